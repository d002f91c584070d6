"""A runner whose server cannot be reached, or sends what no server should."""

import json
import signal
import socket
import subprocess
import time
from datetime import UTC, datetime
from threading import Thread

from websockets.sync.server import ServerConnection, serve

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


def test_runner_goes_on_after_messages_that_it_cannot_read() -> None:
    rest: list[str] = []

    def talk(connection: ServerConnection) -> None:
        connection.recv()
        now = datetime.now(UTC).isoformat()
        connection.send(json.dumps({"type": "welcome", "name": "desk", "patience_s": 15, "answered_at": now}))
        for text in ("[" * 200_000, "{", "[]", '{"type": {}}', '{"type": "stop", "session": ["s1"]}'):
            connection.send(text)
        connection.send('{"type": "start", "session": "s1", "attempt": 1, "command": ["true"]}')
        rest.append(str(connection.recv(timeout=patience_s(30))))
        process.send_signal(signal.SIGTERM)

    with serve(talk, "127.0.0.1", 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        command = [*COMMAND, "runner", "--app", "desk", "--url", url, "--", "true"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            error = process.communicate(timeout=patience_s(60))[1]
        server.shutdown()
    assert "Traceback" not in error
    assert process.returncode == 0
    assert json.loads(rest[0])["error"].startswith("the runner did not start the agent: it sent command")
