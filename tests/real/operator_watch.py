"""All objects of a kind as a watch shows them, so that looking ten times a second costs nothing."""

import http.client
import threading

from operator_kube import KubeApi, Refused


class Watched(threading.Thread):
    """Ends when `ended` is set. What it shows may lag behind the server by a moment."""

    def __init__(self, api: KubeApi, kind: str, ended: threading.Event):
        super().__init__(daemon=True)
        self.api, self.kind, self.ended = api, kind, ended
        self.objects: dict[str, dict] = {}  # By UID.
        self.lock = threading.Lock()

    def all(self) -> list[dict]:
        with self.lock:
            return list(self.objects.values())

    def run(self):
        while not self.ended.is_set():
            try:
                self.follow(self.list())
            except (OSError, http.client.HTTPException, Refused, ValueError):
                self.ended.wait(0.2)  # The server was away, or has forgotten where this began.

    def list(self) -> str:
        """All there are now, and the version to go on from."""
        answer = self.api.call("GET", self.api.path(self.kind))
        with self.lock:
            self.objects = {one["metadata"]["uid"]: one for one in answer["items"]}
        return answer["metadata"]["resourceVersion"]

    def follow(self, version: str):
        path = f"{self.api.path(self.kind)}?watch=1&timeoutSeconds=20&resourceVersion="
        while not self.ended.is_set():
            for event in self.api.lines_of(path + version):
                one = event["object"]
                if event["type"] == "ERROR":
                    raise Refused(one.get("code", 500), one.get("message", ""))
                version = one["metadata"]["resourceVersion"]
                with self.lock:
                    if event["type"] == "DELETED":
                        self.objects.pop(one["metadata"]["uid"], None)
                    else:
                        self.objects[one["metadata"]["uid"]] = one
                if self.ended.is_set():
                    return
