"""What stands in the log."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cockpit.process import logs
from tests.support.patience import patience_s

ROOT = Path(__file__).resolve().parents[4]


def _failed() -> Exception:
    key = "sk-very-secret"
    try:
        raise ValueError(" ".join(["it", "broke"]))
    except ValueError as error:
        assert key
        return error


@pytest.mark.parametrize("terminal", [True, False])
def test_a_traceback_shows_no_values_of_variables(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: terminal))
    said = {"event": "request_failed", "level": "error", "exc_info": _failed()}
    for process in logs.config("WARNING")["formatters"]["structured"]["processors"][1:]:
        said = process(None, "error", said)
    assert "ValueError" in str(said)
    assert "it broke" not in str(said)  # foreign exceptions quote what they fail on
    assert "test_logs.py" in str(said)
    assert "sk-very-secret" not in str(said).replace('key = "sk-very-secret"', "")


class SlowProvider(TimeoutError):
    """An error of a library, which quotes the address that did not answer."""


@pytest.mark.parametrize(("error", "is_shown"), [(SlowProvider("?key=AIza"), False), (TimeoutError("late"), True)])
def test_only_errors_of_the_system_are_quoted(error: OSError, is_shown: bool) -> None:
    event = logs.format_exception(None, "error", {"exc_info": error})
    assert type(error).__name__ in event["exception"]
    assert (str(error) in event["exception"]) is is_shown


_ALL_LEVELS = """
import json, logging, logging.config, os, sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
import anthropic, openai, structlog
from cockpit.process import logs

logging.config.dictConfig(logs.config("DEBUG"))
logs.configure()
secret = os.environ["MARKER"]

class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.dumps({"error": {"message": secret}}).encode()
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
messages = [{"role": "user", "content": secret}]
log = structlog.get_logger("replay")
for client in (
    lambda: openai.OpenAI(api_key=secret, base_url=url).chat.completions.create(model="m", messages=messages),
    lambda: anthropic.Anthropic(api_key=secret, base_url=url).messages.create(
        model="m", max_tokens=1, messages=messages
    ),
    lambda: json.loads("{" + secret),
    lambda: {}[secret],
):
    try:
        client()
    except Exception:
        log.exception("call_failed")
    log.debug("called")
for library in ("django.db.backends", "httpx2", "celery", "mcp", "botocore", "websockets"):
    logging.getLogger(library).debug("payload: %s", secret)
    logging.getLogger(library).info("payload: %s", secret)
server.shutdown()
"""


def test_no_level_logs_payloads() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _ALL_LEVELS],
        env={**os.environ, "MARKER": "sk-very-secret"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=patience_s(60),
        check=True,
    )
    assert "sk-very-secret" not in done.stderr + done.stdout
    assert done.stderr.count("call_failed") == 4
    assert "BadRequestError" in done.stderr
    assert done.stderr.count('"called"') == 4
