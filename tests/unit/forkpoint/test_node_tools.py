"""Tools of agents in JavaScript that run again."""

import json
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[3]
# Its model call begins as soon as the tools are made.
PROGRAM = """
const { tool } = await import(process.argv[1]);
for (const name of ["erase", "send"]) tool(name, () => 1);
await fetch(`${process.env.FORKPOINT_GATEWAY}/openai/chat/completions`, { method: "POST", body: "{}" });
"""


class Gateway(BaseHTTPRequestHandler):
    """Notes requests as it answers them, and takes a while for the first tool."""

    answers: list[tuple[str, str]]
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        if "erase" in body:
            time.sleep(0.3)
        self.answers.append((self.path, body))
        content = json.dumps({} if self.status == 200 else {"detail": "the agent was started again"}).encode()
        self.send_response(self.status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def run(status: int) -> "subprocess.CompletedProcess[str]":
    Gateway.answers, Gateway.status = [], status
    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        node = [str(ROOT / "scripts/with-node"), "node", "--input-type=module", "-e", PROGRAM]
        variables = {"PATH": "/usr/bin:/bin:/usr/local/bin", "FORKPOINT_RERUN": "r1.1", "FORKPOINT_GATEWAY": url}
        command = [*node, str(ROOT / "forkpoint/node/index.js")]
        result = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=60)
        server.shutdown()
    return result


def test_tools_are_known_before_the_first_model_call() -> None:
    result = run(200)
    assert result.returncode == 0, result.stderr
    names = [("/sdk/tools", json.dumps({"names": [name]}, separators=(",", ":"))) for name in ("erase", "send")]
    assert Gateway.answers == [*names, ("/openai/chat/completions", "{}")]


def test_refused_declaration_ends_the_program() -> None:
    result = run(409)
    assert (result.returncode, len(Gateway.answers)) == (6, 1)
    assert "did not take the name of tool erase: the agent was started again" in result.stderr
