"""Servers and clients on standard streams that do not keep to the protocol."""

import sys
from pathlib import Path

from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_runs import GatewaySession, record, rerun, run_of

# Half of a character, and a number beyond 64 bits: JSON, but not for every reader.
CALL = (
    '{"jsonrpc":"2.0", "id":7, "method":"tools/call",'
    ' "params":{"name":"lookup","arguments":{"id":123456789012345678901234567890,"note":"cut \\ud83d"}}}'
)
HANDSHAKE = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
CANCELLATION = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":["7"]}'
ANSWER = '[{"jsonrpc":"2.0", "id":7, "result":{"content":[{"type":"text","text":"found \\ud83d"}]}}]'
NOISE = ["starting", '{"jsonrpc":"2.0","id":[7],"result":{}}', "[" * 5_000]

SERVER = f"""
import pathlib, sys
for line in sys.stdin:
    pathlib.Path(sys.argv[1]).open("a").write(line)
    if '"initialize"' in line:
        print('{{"jsonrpc":"2.0","id":0,"result":{{}}}}', flush=True)
    elif '"tools/call"' in line:
        print({chr(10).join([*NOISE, ANSWER])!r}, flush=True)
"""

AGENT = f"""
import subprocess
with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shim:
    def tell(line):
        print(line, file=shim.stdin, flush=True)
    tell({HANDSHAKE!r})
    shim.stdout.readline()
    for line in {[CANCELLATION, CALL]!r}:
        tell(line)
    for line in shim.stdout:
        print(line, end="", flush=True)
        if "found" in line:
            break
    shim.stdin.close()
"""


def test_what_is_no_message_passes_to_the_byte(server: Server, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    command = [*COMMAND, "mcp-shim", "--name", "desk", "--", sys.executable, "-c", SERVER, str(heard)]
    agent = AGENT.replace("COMMAND", repr(command))
    first = record(server, agent)
    assert (first.returncode, first.stdout.splitlines()) == (0, [*NOISE, ANSWER]), first.stderr
    assert heard.read_text().splitlines()[-2:] == [CANCELLATION, CALL]
    [step] = [step for step in GatewaySession(server, "", run_of(first)).steps(2) if step["tool_name"] == "lookup"]
    assert (step["status"], step["output"]) == ("ok", "found ?")
    again = rerun(server, run_of(first), agent)
    assert again.returncode == 0, again.stderr
    assert "lookup: 1 exact" in again.stderr
    assert heard.read_text().count("tools/call") == 1
