"""What a Python program in a rerun may reach: hosts, the clock, and random numbers."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from forkpoint.bootstrap import child_environment
from forkpoint.bootstrap.rerun import option_parser
from forkpoint.confinement.network import Host

CONNECT = """
import asyncio, json, socket, sys
results = []
for host, port in json.loads(sys.argv[1]):
    try:
        socket.create_connection((host, port), 5).close()
        results.append("open")
    except OSError as error:
        results.append(type(error).__name__)

async def connect(host, port):
    (await asyncio.open_connection(host, port))[1].close()

try:
    asyncio.run(connect(*json.loads(sys.argv[1])[-1]))
    results.append("open")
except OSError as error:
    results.append(type(error).__name__)
print(json.dumps(results))
"""
DRAW = """
import json, os, random, secrets, time, uuid
from datetime import datetime, UTC
values = [str(uuid.uuid4()), random.random(), secrets.token_hex(4), random.SystemRandom().random()]
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, str(uuid.uuid4()).encode())
    os._exit(0)
values += [os.read(read, 36).decode(), str(uuid.uuid4())]
now = datetime.now(UTC)
started = time.monotonic()
time.sleep(0.01)
print(json.dumps([values, now.isoformat(), abs(time.time() - now.timestamp()) < 60, time.monotonic() > started]))
"""


def run(code: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    variables = {"FORKPOINT_URL": "http://127.0.0.1:9", **variables}
    environment = child_environment({**os.environ, **variables}, rerun="r1")
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


class NoteTaker(BaseHTTPRequestHandler):
    """Stands for the server that is told about hosts."""

    notes: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.notes.append((self.path, json.loads(body)["host"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


def test_server_learns_which_other_hosts_the_program_asks_for() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), NoteTaker) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        places = [["127.0.0.1", server.server_port], ["forkpoint.invalid", 80], ["127.0.0.2", 1], ["127.0.0.3", 1]]
        hosts = f"{address},127.0.0.2"
        run(CONNECT, json.dumps(2 * places), FORKPOINT_URL=f"http://{address}", FORKPOINT_HOSTS=hosts)
        server.shutdown()
    assert {path for path, _ in NoteTaker.notes} == {"/api/v1/reruns/r1/hosts"}
    assert sorted(host for _, host in NoteTaker.notes) == ["127.0.0.2", "127.0.0.3:1", "forkpoint.invalid"]


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        yield one.getsockname()[1], other.getsockname()[1]


def test_program_connects_only_to_listed_hosts(ports: tuple[int, int]) -> None:
    places = json.dumps([["127.0.0.1", ports[0]], ["forkpoint.invalid", 80], ["127.0.0.1", ports[1]]])
    # The server comes first; here it cannot be told about them.
    guarded = run(CONNECT, places, FORKPOINT_HOSTS=f"127.0.0.1:9,127.0.0.1:{ports[0]}")
    assert json.loads(guarded.stdout) == ["open", "PermissionError", "PermissionError", "PermissionError"]
    assert guarded.stderr.count("forkpoint: a rerun may not connect to") == 2
    assert f"127.0.0.1:{ports[1]}: allow it with --allow-host 127.0.0.1:{ports[1]}" in guarded.stderr
    assert "forkpoint.invalid: allow it" in guarded.stderr
    by_name = run(CONNECT, places, FORKPOINT_HOSTS="localhost")
    assert json.loads(by_name.stdout) == ["open", "PermissionError", "open", "open"]
    assert json.loads(run(CONNECT, places).stdout) == ["open", "gaierror", "open", "open"]


REVERSE_LOOKUPS = """
import socket
names = ["192.0.2.7", "forkpoint.invalid", "127.0.0.1", socket.gethostname()]
places = [("192.0.2.8", 80), ("127.0.0.1", 80)]
for host in [*names, *places]:
    try:
        socket.getnameinfo(host, 0) if host in places else socket.gethostbyaddr(host)
    except PermissionError:
        print(host if host in names else host[0])
    except OSError:
        pass
"""


def test_reverse_lookups_reach_no_name_server() -> None:
    guarded = run(REVERSE_LOOKUPS, FORKPOINT_HOSTS="127.0.0.1:9")
    assert guarded.stdout.split() == ["192.0.2.7", "forkpoint.invalid", "192.0.2.8"]


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("db.internal", Host("db.internal", None)),
        ("DB.internal:5432", Host("db.internal", 5432)),
        ("[::1]:80", Host("::1", 80)),
    ],
)
def test_hosts_have_an_optional_port(text: str, host: Host) -> None:
    assert Host.parse(text) == host


@pytest.mark.parametrize("text", ["", "http://db", "db:port", "me@db", "[::1"])
def test_what_is_no_host_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        option_parser().parse_args(["run", "--allow-host", text])
    error = capsys.readouterr().err
    assert "--allow-host: " in error
    assert "is no host: write HOST or HOST:PORT" in error


def drawn(seed: str) -> Any:
    process = run(DRAW, FORKPOINT_FREEZE=f"2026-03-01T10:00:00+00:00 {seed}")
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_frozen_program_has_the_time_and_draws_of_its_seed() -> None:
    values, now, follows, passes = drawn("one")
    assert now.startswith("2026-03-01T10:0")
    assert (follows, passes) == (True, True)
    assert drawn("one")[0] == values
    assert len({str(value) for value in values}) == len(values)
    assert drawn("other")[0] != values


def test_freezing_without_its_library_ends_the_program() -> None:
    code = "import sys; sys.modules['time_machine'] = None\nfrom forkpoint.bootstrap.clock import freeze\n"
    process = run(code + "freeze('2026-03-01T10:00:00+00:00 one')")
    assert process.returncode == 2
    assert "pip install 'forkpoint[freeze]'" in process.stderr
