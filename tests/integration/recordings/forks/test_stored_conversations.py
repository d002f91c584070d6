"""Conversations that the provider stores: a request names the response before it, and not what was said."""

import json
from pathlib import Path

from tests.clients.model_server import ModelServer
from tests.services.server import Server
from tests.support.gateway_agents import REQUESTS
from tests.support.gateway_runs import EXACT, LIVE, fork_of, labels, record, rerun, run_of

AGENT = f"""{REQUESTS}
previous = {{}}
for number in range(3):
    answer = ask_openai("responses", {{"model": "m1", "input": f"Question {{number}}?", **previous}})
    previous = {{"previous_response_id": answer["id"]}}
"""


def test_answer_after_another_response_is_new(server: Server, models: ModelServer, tmp_path: Path) -> None:
    run = run_of(record(server, AGENT))
    before = len(models.requests)
    again = rerun(server, run, AGENT)
    assert (again.returncode, "3 calls exact" in again.stderr, len(models.requests)) == (0, True, before), again.stderr
    profile = tmp_path / "overrides.json"
    profile.write_text(json.dumps({"overrides": [{"match": {"step": 2}, "prompt": {"system": "Answer in verse."}}]}))
    result = rerun(server, run, AGENT, options=["--overrides", str(profile), "--live"])
    fork, _ = fork_of(server, result)
    assert labels(fork.steps(3)) == [EXACT, LIVE, LIVE], result.stderr
