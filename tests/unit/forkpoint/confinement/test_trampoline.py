"""The limits of a process that becomes a program: it is otherwise as if it had been started as that program."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from forkpoint.confinement.trampoline import enforces_ports, limited_command
from tests.support.patience import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes of other systems have no such limits")
CONNECT = """
import socket, sys
for port in sys.argv[1:]:
    try:
        socket.create_connection(("127.0.0.1", int(port))).close()
        print("open")
    except PermissionError:
        print("refused")
"""
# Prints its words, environment, input, and the signals that it ignores.
REPORT = ["sh", "-c", 'printf "%s|" "$0" "$@"; env; cat; grep SigIgn /proc/self/status']


@pytest.mark.skipif(not enforces_ports(), reason="the kernel does not restrict TCP")
def test_only_listed_ports_can_be_connected_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        ports = [server.getsockname()[1] for server in (first, second)]
        # By a program that the program starts.
        inner = [sys.executable, "-c", CONNECT, *map(str, ports)]
        words = [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])", *inner]
        program = subprocess.run(limited_command(words, ports[:1]), capture_output=True, text=True, check=True)
    assert program.stdout.split() == ["open", "refused"]


def test_program_gets_words_variables_input_and_signals_as_they_are(tmp_path: Path) -> None:
    # Without a locale, Python would add one.
    environment = {"PATH": os.environ["PATH"], "ODD": "a=b\nc"}
    words = [*REPORT, "-I", "two words", "", "é\udcff"]
    outputs = [
        subprocess.run(command, input=b"in", capture_output=True, env=environment, cwd=tmp_path, check=True).stdout
        for command in (words, limited_command(words, None))
    ]
    assert outputs[0] == outputs[1]
    assert b"-I|two words||" in outputs[0]


def test_program_that_does_not_exist_is_named() -> None:
    program = subprocess.run(limited_command(["no-such-program"], None), capture_output=True, text=True, check=False)
    assert (program.returncode, program.stderr.split(": ")[:2]) == (127, ["forkpoint", "cannot run no-such-program"])


def test_program_ends_with_its_parent() -> None:
    """Also if that ends before the program has begun."""
    code = "import subprocess, sys, os; from forkpoint.confinement.trampoline import limited_command as limit\n"
    code += "words = limit(['sh', '-c', 'echo $$; exec sleep 600'], None)\n"
    code += "print(int(subprocess.Popen(words, stdout=subprocess.PIPE).stdout.readline()), flush=True)\n"
    code += "os.kill(os.getpid(), 9)"
    parent = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    process = int(parent.stdout)
    assert parent.returncode == -signal.SIGKILL
    wait_until(lambda: not is_running(process), 10)
    late_command = limited_command(["echo", "it ran"], None)
    late_command[4] = "1"
    late = subprocess.run(late_command, capture_output=True, check=False)
    assert (late.returncode, late.stdout) == (6, b"")


def is_running(process: int) -> bool:
    path = Path(f"/proc/{process}/stat")
    return path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z"
