"""A real `brio serve` for a test or a soak: started on a free port, stopped at the end."""

import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("BRIO_BINARY", REPOSITORY / "build" / "brio"))


def find_model(name):
    """The file NAME.gguf of $BRIO_MODELS or of brio's store, or None."""
    home = pathlib.Path(os.environ.get("BRIO_HOME") or pathlib.Path.home() / ".cache" / "brio")
    folders = [os.environ.get("BRIO_MODELS"), home / "models"]
    for folder in filter(None, folders):
        path = pathlib.Path(folder) / f"{name}.gguf"
        if path.exists():
            return path
    return None


def limited(command, *limits):
    """The command under limits of the shell's ulimit, such as "-n 64"."""
    settings = "".join(f"ulimit {limit} && " for limit in limits)
    return ["sh", "-c", settings + 'exec "$0" "$@"', *map(str, command)]


def free_port():
    """Nobody listens on it, and no client gets it for an outgoing connection while its server is away."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            port = random.randrange(min(10000, first - 1000), first)
            probe.bind(("127.0.0.1", port))
            return port


class BrioServer:
    def __init__(self, model, *flags, binary=BINARY, port=0, limits=(), home=None, log=None, wrap=()):
        """log: a file that takes the output instead of self.output; the port has to be given then. wrap: a command that
        runs its arguments."""
        command = [*wrap, *limited([binary, "serve", model, "--port", port, *flags], *limits)]
        environment = {**os.environ, **({"BRIO_HOME": str(home)} if home else {})}
        self.output = []
        self._listening = threading.Event()
        if log is not None:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            self.url, self.port = f"http://127.0.0.1:{port}", port
            return
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._listening.wait(60):
            self.kill()
            raise RuntimeError("no address within 60 s:\n" + "".join(self.output))
        if not hasattr(self, "port"):  # the output has ended without it
            raise RuntimeError(f"the server ended at once, exit code {self.process.wait(60)}:\n" + "".join(self.output))

    def _read(self):
        for line in self.process.stdout:
            self.output.append(line)
            found = re.search(r"listening on (http://\S+:(\d+));", line)
            if found:
                self.url, self.port = found.group(1), int(found.group(2))
                self._listening.set()
        self._listening.set()

    def wait_ready(self, seconds=300):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError("the server ended:\n" + "".join(self.output))
            if self._is_ready():
                return self
            time.sleep(0.05)
        raise RuntimeError("not ready in time:\n" + "".join(self.output))

    def _is_ready(self):
        try:
            return self.get("/health")[0] == 200
        except OSError:  # not listening yet
            return False

    def request(self, method, path, body=None, headers=()):
        """(status, headers, text) whatever the status."""
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=dict(headers))
        try:
            with urllib.request.urlopen(request, timeout=600) as response:
                return response.status, response.headers, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def get(self, path):
        status, _, text = self.request("GET", path)
        return status, text

    def post(self, path, body):
        status, _, text = self.request("POST", path, body)
        return status, json.loads(text)

    def metrics(self):
        """Samples by name, or by name{label="value",...} without the model's name."""
        out = {}
        for line in self.get("/metrics")[1].splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                name = re.sub(r',?model_name="[^"]*"', "", name).replace("{,", "{").replace("{}", "")
                out[name] = float(value)
        return out

    def wait_metric(self, name, accept, seconds=300):
        deadline = time.monotonic() + seconds
        while True:
            value = self.metrics().get(name)
            if value is not None and accept(value):
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"{name} stayed at {value}")
            time.sleep(0.05)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds=300):
        return self.process.wait(seconds)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
