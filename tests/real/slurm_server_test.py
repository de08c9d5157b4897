"""A slurmrestd behind https, as a gateway has it: a real bridge reaches it where the named authority
vouches for it, and says who does not where none does."""

import os
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from urllib.parse import urlsplit

from bridge_alone import BridgeAlone

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "dev" / "lib"))

from msdev.slurm import Instance  # noqa: E402
from operator_harness import dev_slurm  # noqa: E402
from operator_kube import eventually  # noqa: E402

NAME = "test-slurm-server"


def certificate(folder: Path) -> tuple[Path, Path]:
    """Self-signed, for this machine."""
    files = folder / "tls.crt", folder / "tls.key"
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    argv += ["-subj", "/CN=gateway", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*argv, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


class Gateway(socketserver.ThreadingTCPServer):
    """Takes TLS off and hands the bytes on."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, files: tuple[Path, Path], to: tuple[str, int]):
        super().__init__(("127.0.0.1", 0), Relay)
        self.to = to
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*files)

    def handle_error(self, request, client_address):
        """A client that does not trust us hangs up; that is what is tested."""


class Relay(socketserver.BaseRequestHandler):
    def handle(self):
        with (
            self.server.tls.wrap_socket(self.request, server_side=True) as near,
            socket.create_connection(self.server.to) as far,
        ):
            back = threading.Thread(target=pump, args=(far, near), daemon=True)
            back.start()
            pump(near, far)
            back.join()


def pump(source: socket.socket, sink: socket.socket):
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        sink.close()


@unittest.skipUnless(os.geteuid() == 0, "dev/slurm needs root")
class SlurmServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        dev_slurm("down", "--name", NAME)
        cls.addClassCleanup(dev_slurm, "down", "--name", NAME)
        dev_slurm("up", "--name", NAME, "--nodes", "1")
        cls.endpoint = Instance(NAME).endpoint()

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.files = certificate(self.folder)
        server = urlsplit(self.endpoint["url"])
        gateway = self.enterContext(Gateway(self.files, (server.hostname, server.port)))
        threading.Thread(target=gateway.serve_forever, daemon=True).start()
        self.addCleanup(gateway.shutdown)
        self.url = f"https://127.0.0.1:{gateway.server_address[1]}"

    def bridge(self, *flags, **variables) -> BridgeAlone:
        env = {**os.environ, **variables}
        return BridgeAlone(self, self.folder, self.url, self.endpoint["token"], flags, env)

    def test_the_flag_names_the_authority(self):
        bridge = self.bridge("--slurm-ca-file", self.files[0])
        self.assert_follows(bridge)

    def test_so_does_the_environment(self):
        self.assert_follows(self.bridge(SLURM_CA_FILE=str(self.files[0])))

    def assert_follows(self, bridge: BridgeAlone):
        eventually(
            lambda: 'slurm_cache_objects{kind="nodes"} 1' in bridge.metrics(),
            lambda: f"the bridge:\n{bridge.said()}\n{bridge.metrics()}",
        )

    def test_whom_nobody_vouches_for_gets_no_token(self):
        bridge = self.bridge()
        eventually(lambda: "certificate" in bridge.said(), lambda: bridge.said())
        self.assertNotIn(self.endpoint["token"], bridge.said())
        self.assertNotIn('slurm_cache_objects{kind="nodes"} 1', bridge.metrics())


if __name__ == "__main__":
    unittest.main()
