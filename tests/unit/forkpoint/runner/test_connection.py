"""A runner whose server cannot be reached."""

import signal
import socket
import subprocess
import time

from tests.support.command_line import COMMAND
from tests.support.patience import patience_s


def test_first_failed_attempt_is_printed_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        command = [*COMMAND, "runner", "--app", "desk", "--url", url, "--", "true"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            line = process.stderr.readline()
            # Two more attempts follow.
            time.sleep(2)
            process.send_signal(signal.SIGTERM)
            rest = process.communicate(timeout=patience_s(30))[1]
    assert line.startswith(f"forkpoint runner: cannot reach {url}: ")
    assert "cannot reach" not in rest
