"""Slurm as the operator's tests see it: real daemons, workers that come and go as pods do, jobs, and
a proxy before slurmrestd that remembers and may answer in its place."""

import base64
import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import signal
import threading
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from msdev import slurm_conf
from msdev.console import Failure
from msdev.slurm import Instance
from operator_kube import eventually

API = "v0.0.45"
FIRST_WORKER_PORT, WORKER_PORTS = 40, 250  # Within the block of the instance.


class Slurm:
    """One instance of dev/slurm. Tests look through a slurmrestd of their own, so that they see what
    is going on while the operator's is dead."""

    def __init__(self, name: str):
        self.instance = Instance(name)
        self.plan = self.instance.plan()
        endpoint = self.instance.endpoint()
        self.url, self.token = endpoint["url"], endpoint["token"]
        with open(endpoint["jwt_key"], "rb") as file:
            self.key = file.read()
        self.first_port = self.plan.port("slurmctld")
        self.eyes = f"http://{slurm_conf.ADDRESS}:{self.first_port + 5}"
        self.instance.start_slurmrestd(self.plan, "eyes", self.first_port + 5)
        # A node that comes back must be where Slurm looks for it.
        self.ports: dict[str, int] = {}
        eventually(lambda: self.call("ping/"), "slurmrestd answers")

    def call(self, path: str, method: str = "GET", body: dict | None = None) -> dict:
        request = urllib.request.Request(
            f"{self.eyes}/slurm/{API}/{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"X-SLURM-USER-TOKEN": self.token, "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return self.refusal(error)
        except (OSError, http.client.HTTPException, ValueError):
            return {}

    @staticmethod
    def refusal(error: urllib.error.HTTPError) -> dict:
        """slurmrestd does not explain itself in JSON always."""
        try:
            return json.loads(error.read())
        except (OSError, http.client.HTTPException, ValueError):
            return {}

    def nodes(self) -> dict[str, dict]:
        return {node["name"]: node for node in self.call("nodes/").get("nodes", [])}

    def node(self, name: str) -> dict:
        """Empty where Slurm does not know it."""
        found = self.call(f"node/{name}").get("nodes", [])
        return found[0] if found else {}

    def state(self, name: str) -> set[str]:
        return set(self.node(name).get("state", []))

    def reason(self, name: str) -> str:
        return self.node(name).get("reason", "")

    def is_draining(self, name: str) -> bool:
        state = self.state(name)
        return "DRAIN" in state and "UNDRAIN" not in state

    def scontrol(self, *words: str) -> str:
        return self.instance.sandbox.output(["scontrol", *words])

    def update(self, name: str, **fields: str) -> None:
        self.scontrol("update", f"nodename={name}", *(f"{k}={v}" for k, v in fields.items()))

    def forget(self, name: str) -> None:
        """Whatever state it is in."""
        try:
            self.scontrol("delete", f"nodename={name}")
        except Failure:
            pass

    def reservation(self, name: str) -> dict:
        found = self.call(f"reservation/{name}").get("reservations", [])
        return found[0] if found else {}

    def run_job(self, node: str, *options: str) -> int:
        """A job that holds the node until it is cancelled; returns when it runs."""
        argv = ["sbatch", "--parsable", "-p", "all", "-w", node, "-o", "/dev/null", *options]
        job = int(self.instance.sandbox.output([*argv, "--wrap", "sleep 3600"]))
        state = lambda: self.job(job).get("job_state", [])  # noqa: E731
        eventually(lambda: "RUNNING" in state(), lambda: f"job {job} runs, not {state()}")
        return job

    def job(self, job: int) -> dict:
        found = self.call(f"job/{job}").get("jobs", [])
        return found[0] if found else {}

    def cancel(self, job: int) -> None:
        self.instance.sandbox.output(["scancel", str(job)])

    def cancel_all(self) -> None:
        """A node cannot be forgotten while it has jobs."""

        def told() -> bool:
            try:
                self.instance.sandbox.output(["scancel", "--user=root"])
            except Failure:
                return False  # slurmctld, which vouches for whoever asks, was busy.
            return True

        eventually(told, "scancel is heard")
        squeue = ["squeue", "--noheader", "--states=all", "--format=%i %T"]

        def over() -> bool:
            try:
                left = self.instance.sandbox.output(squeue)
            except Failure:
                return False  # A slurmctld that is being started again gives no credentials.
            return not any(word in left for word in ("RUNNING", "PENDING", "COMPLETING"))

        eventually(over, lambda: self.instance.sandbox.output(squeue))

    def start_worker(self, name: str, features: str) -> None:
        """What a worker pod runs: slurmd, by this name."""
        place = self.ports.setdefault(name, len(self.ports))
        assert place < WORKER_PORTS, "more workers than ports"
        port = self.first_port + FIRST_WORKER_PORT + place
        conf = f"CPUs=8 RealMemory=16000 NodeAddr={slurm_conf.ADDRESS} Port={port}"
        argv = ["/usr/sbin/slurmd", "-D", "-Z", "-N", name]
        self.instance.sandbox.output(["sh", "-c", f"echo 127.0.0.1 {name} >>/etc/hosts"])
        self.instance.sandbox.start_daemon(
            f"worker-{name}", [*argv, "--conf", f"{conf} Features={features}"], hostname=name
        )

    def worker_lives(self, name: str) -> bool:
        return self.instance.sandbox.daemon(f"worker-{name}").pid() is not None

    def stop_worker(self, name: str) -> None:
        """Without a word to Slurm."""
        if self.worker_lives(name):
            self.instance.sandbox.kill(f"worker-{name}")

    def create_nodes(self, hostlist: str, *more: str) -> None:
        """Without a slurmd: nodes of a cloud, which Slurm calls idle and lets be drained, and which
        sleep until a job wants them."""
        conf = ["State=CLOUD", "CPUs=8", "RealMemory=16000", f"NodeAddr={slurm_conf.ADDRESS}"]
        self.scontrol("create", f"NodeName={hostlist}", *conf, *more)

    def stop_slurmctld(self) -> None:
        """As the end of its pod would: it is asked to, and saves its state."""
        sandbox = self.instance.sandbox
        if (process := sandbox.process("slurmctld")) is not None:
            os.kill(process, signal.SIGTERM)
        eventually(lambda: sandbox.daemon("slurmctld").pid() is None, "slurmctld ends")

    def start_slurmctld(self) -> None:
        self.instance.start_slurmctld(self.plan)

    def kill_slurmrestd(self) -> None:
        self.instance.sandbox.kill("slurmrestd")

    def start_slurmrestd(self) -> None:
        self.instance.start_slurmrestd(self.plan)


def short_lived(token: str, key: bytes, seconds: float) -> str:
    """The same token, for that long from now."""
    now = int(time.time())
    claims = claims_of(token) | {"iat": now, "exp": int(now + seconds)}

    def encoded(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    parts = ({"alg": "HS256", "typ": "JWT"}, claims)
    signed = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{encoded(hmac.new(key, signed.encode(), hashlib.sha256).digest())}"


def is_signed_with(token: str, key: bytes) -> bool:
    signed, _, signature = token.rpartition(".")
    digest = hmac.new(key, signed.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == signature


def claims_of(token: str) -> dict:
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class RestProxy(http.server.ThreadingHTTPServer):
    """Between the operator or the bridge and slurmrestd. `answers` maps the end of a path to an
    answer that it gives itself; the next request whose path has one of `loses` in it arrives and
    is never answered; `asked` has the requests, as in "GET job/7", and `tokens` those that came with
    them, the last one last; `own_token` goes to slurmrestd in their place."""

    daemon_threads = True

    def __init__(self, target: str):
        super().__init__(("127.0.0.1", 0), _Forward)
        self.target = urlsplit(target)
        self.answers: dict[str, dict] = {}
        self.loses: list[str] = []
        self.asked: list[str] = []
        self.tokens: list[str] = []
        self.own_token = ""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def move(self, target: str, token: str) -> None:
        """From now on another slurmrestd is behind it."""
        self.target, self.own_token = urlsplit(target), token

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Forward(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = re.sub(r"^/slurm/v[\d.]+/", "", urlsplit(self.path).path).rstrip("/")
        server.asked.append(f"{self.command} {path}")
        server.tokens.append(self.headers.get("X-SLURM-USER-TOKEN", ""))
        own = next((a for end, a in server.answers.items() if end in self.path), None)
        if own is not None:
            self.answer(200, json.dumps(own).encode())
            return
        line = http.client.HTTPConnection(server.target.hostname, server.target.port, timeout=60)
        try:
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host",)}
            if server.own_token:
                headers["X-SLURM-USER-TOKEN"] = server.own_token
            line.request(self.command, self.path, body=body or None, headers=headers)
            answer = line.getresponse()
            body = answer.read()
            lost = next((part for part in server.loses if part in self.path), None)
            if lost is None:
                self.answer(answer.status, body)
            else:
                server.loses.remove(lost)
                self.close_connection = True
        except OSError:
            self.answer(502, b"{}")
        finally:
            line.close()

    do_POST = do_DELETE = do_GET

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
