"""What the kernel enforces in the programs of a rerun, and what becomes of processes that they leave behind."""

import socket
import subprocess
import sys
import uuid

import pytest

from forkpoint.bootstrap.landlock import connect_limit, is_supported
from forkpoint.bootstrap.left_processes import end_left_processes

CONNECT = """
import socket, sys
for port in sys.argv[1:]:
    try:
        socket.create_connection(("127.0.0.1", int(port))).close()
        print("open")
    except PermissionError:
        print("refused")
"""


@pytest.mark.skipif(not is_supported(), reason="the kernel does not restrict TCP")
def test_only_listed_ports_can_be_connected_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        ports = [server.getsockname()[1] for server in (first, second)]
        # By a program that the program starts.
        inner = [sys.executable, "-c", CONNECT, *map(str, ports)]
        words = [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])", *inner]
        limit = connect_limit(ports[:1])
        program = subprocess.run(words, preexec_fn=limit, capture_output=True, text=True, check=True)  # noqa: PLW1509
    assert program.stdout.split() == ["open", "refused"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows environments")
def test_processes_that_a_program_left_behind_are_ended() -> None:
    rerun = uuid.uuid4().hex
    # It ignores the first signal, in a session of its own.
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={"FORKPOINT_RERUN": rerun},
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        assert end_left_processes(uuid.uuid4().hex) == 0
        assert end_left_processes(rerun) == 1
        assert process.wait() == -9
