"""Agents whose random numbers, ids and clock are those of their recording, and programs that only the gateway sees."""

from pathlib import Path

from tests.clients.model_server import ANSWER, ModelServer
from tests.services.server import Server
from tests.support.gateway_agents import REQUESTS
from tests.support.gateway_runs import rerun, run_agent, run_of

ROOT = Path(__file__).parents[4]
RANDOM_AGENT = f"""{REQUESTS}
import forkpoint, random, secrets, uuid
values = [random.random(), uuid.uuid4(), forkpoint.random(), secrets.randbelow(10**9)]
values += [uuid.uuid1().node, random.getrandbits(64)]
text = " ".join(map(str, values))
messages = [{{"role": "user", "content": text}}]
print(ask_openai("chat/completions", {{"model": "m1", "messages": messages}})["choices"][0]["message"]["content"])
"""
NODE_AGENT = """
const messages = [{ role: "user", content: `Years left: ${2100 - new Date().getFullYear()}` }];
const answer = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
  method: "POST",
  headers: { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
  body: JSON.stringify({ model: "m1", messages }),
});
console.log((await answer.json()).choices[0].message.content);
"""


def test_seeded_recording_is_repeated_exactly(server: Server, models: ModelServer) -> None:
    first = run_agent(server, ["record", "--gateway", "--freeze", "--app", "seeded"], RANDOM_AGENT)
    assert (first.returncode, first.stdout) == (0, f"{ANSWER}\n"), first.stderr
    again = rerun(server, run_of(first), RANDOM_AGENT, options=["--freeze"])
    assert (again.returncode, again.stdout) == (0, f"{ANSWER}\n"), again.stderr
    assert "1 call exact\n" in again.stderr


def test_program_in_another_language_is_recorded_through_the_gateway(
    server: Server, models: ModelServer, tmp_path: Path
) -> None:
    script = tmp_path / "agent.mjs"
    script.write_text(
        f"#!/bin/sh\n':' //; exec {ROOT}/scripts/with-node node --input-type=module - <<'END'\n{NODE_AGENT}\nEND\n"
    )
    script.chmod(0o700)
    python = ("env", str(script))
    first = run_agent(server, ["record", "--app", "other"], "", python=python)
    assert (first.returncode, first.stdout) == (0, f"{ANSWER}\n"), first.stderr
    assert "its model calls are recorded through the gateway" in first.stderr
    again = rerun(server, run_of(first), "", options=["--freeze"], python=python)
    assert (again.returncode, again.stdout) == (0, f"{ANSWER}\n"), again.stderr
    assert "gets the recorded clock" in again.stderr
    assert "1 call exact\n" in again.stderr


def test_seeded_recording_of_node_is_repeated_exactly(server: Server, models: ModelServer, tmp_path: Path) -> None:
    script = tmp_path / "agent.mjs"
    values = "${Math.random()} ${crypto.randomUUID()} ${crypto.getRandomValues(new Uint32Array(1))[0]}"
    script.write_text(NODE_AGENT.replace("Years left", f"Draws {values}, years left"))
    python = (str(ROOT / "scripts/with-node"), "node", str(script))
    first = run_agent(server, ["record", "--gateway", "--freeze", "--app", "other"], "", python=python)
    assert (first.returncode, first.stdout) == (0, f"{ANSWER}\n"), first.stderr
    again = rerun(server, run_of(first), "", options=["--freeze"], python=python)
    assert (again.returncode, again.stdout) == (0, f"{ANSWER}\n"), again.stderr
    assert "1 call exact\n" in again.stderr
