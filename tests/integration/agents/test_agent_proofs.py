"""Proofs whose probes start the agent itself."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.integration.agents.conftest import StartRunner, online, post
from tests.services.server import Server
from tests.support.gateway_runs import get, record, run_of
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until
from tests.support.servers.provider_server import Exchange, provider_server

pytestmark = pytest.mark.own_store
# A model rates an order, and code decides by the rating who handles it. It stops for good where nobody has rated 70
# before, after the rating.
DESK_AGENT = """
import json, os, pathlib, sys, time, urllib.request
prompt, temperature, limit, mark = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])

def ask(system, **options):
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "Order 7 is late."}]
    body = json.dumps({"model": "m1", "messages": messages, **options}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer sk-1"}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as response:
        return json.load(response)["choices"][0]["message"]["content"]

rating = int(ask(prompt, temperature=temperature))
if rating == 70 and not mark.exists():
    mark.write_text(str(os.getpid()))
    time.sleep(600)
print(ask("You refund orders." if rating > limit else "You close cases."))
"""
STRICT, GENEROUS = "Rate the order. Be strict.", "Rate the order. Be generous."
RATINGS: dict[tuple[str, Any], str] = {
    (STRICT, 0.0): "30",
    (GENEROUS, 0.5): "80",
    (GENEROUS, 0.0): "70",
    (STRICT, 0.5): "40",
}


@dataclass
class RatingModels:
    """A model server that answers by prompt and temperature, and every question that it was asked."""

    url: str = ""
    questions: list[tuple[str, float | None]] = field(default_factory=list)


@contextmanager
def rating_models() -> Iterator[RatingModels]:
    models = RatingModels()

    def respond(exchange: Exchange) -> None:
        question = exchange.body["messages"][0]["content"], exchange.body.get("temperature")
        models.questions.append(question)
        text = RATINGS.get(question, "You get a refund." if "refund" in question[0] else "The case is closed.")
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        exchange.status(
            200, {"id": "c1", "object": "chat.completion", "model": "m1", "choices": [choice], "usage": usage}
        )

    with provider_server(respond) as provider:
        models.url = provider.base_url
        yield models


@pytest.fixture(scope="module")
def models() -> Iterator[RatingModels]:
    with rating_models() as server:
        yield server


@pytest.fixture(scope="module")
def base(server: Server) -> str:
    return recorded(server, STRICT, "0", "50")


def recorded(server: Server, *arguments: str) -> str:
    result = record(server, DESK_AGENT, *arguments, os.devnull)
    run = run_of(result)
    wait_until(lambda: get(server, f"/runs/{run}")["sealed"], 30)
    return run


def diff_of(server: Server, base: str, candidate: str) -> str:
    report = post(server, "/diffs", {"base": base, "candidate": candidate})
    wait_until(lambda: "summary" in get(server, f"/diffs/{report['id']}"), 30)
    return str(report["id"])


def proof_body(**budget: int) -> dict[str, Any]:
    return {"engine": "agent", "budget": {"repeats": 0, **budget}, "parts": False, "mediators": False}


def ended(server: Server, proof: str) -> Any:
    def view() -> Any:
        view = get(server, f"/proofs/{proof}")
        return view if view["ended_at"] else None

    return wait_until(view, 120, lambda: str(get(server, f"/proofs/{proof}")))


def test_code_of_the_agent_turns_the_change_into_the_outcome(
    server: Server, models: RatingModels, base: str, start_runner: StartRunner, tmp_path: Path
) -> None:
    """Following the recordings cannot decide what the code makes of a new rating; the agent does, and calls once."""
    candidate = recorded(server, GENEROUS, "0.5", "50")
    diff = diff_of(server, base, candidate)
    path = f"{server.url}/api/v1/diffs/{diff}/prove"
    refusal = HTTP.post(path, json=proof_body(), timeout=patience_s(30))
    assert (refusal.status_code, refusal.json()["code"]) == (409, "no_runner")
    plan = post(server, f"/diffs/{diff}/prove/preview", proof_body(live_calls=20))
    assert (plan["refusals"], plan["missing"]) == ([], [])
    assert plan["agent_starts"] >= 2 + plan["probes"]

    mark = tmp_path / "mark"
    before = len(models.questions)
    arguments = (GENEROUS, "0.5", "50", str(mark))
    lost = start_runner(DESK_AGENT, *arguments, options=("--name", "first", "--parallel", "2"))
    proof = post(server, f"/diffs/{diff}/prove", proof_body(live_calls=20))["id"]
    pid = wait_until(
        lambda: mark.read_text() if mark.exists() else "", 120, lambda: str(get(server, f"/proofs/{proof}"))
    )
    lost.kill()
    os.kill(int(pid), signal.SIGKILL)
    wait_until(lambda: not online(server), 30)
    start_runner(DESK_AGENT, *arguments, options=("--name", "second", "--parallel", "2"))
    view = ended(server, proof)
    findings = view["findings"]
    assert (view["status"], findings["verdict"], findings["agent_ran"]) == ("completed", "single", True), findings
    atoms = {
        atom["category"]: (atom["sufficient"], atom["necessary"]) for atom in findings["atoms"] if atom["testable"]
    }
    assert atoms == {"prompt": (True, True), "model": (False, False)}
    # The agent has the candidate's prompt, so it does not reproduce the base: both sides are tested from the candidate.
    controls = [(probe["side"], probe["outcome"]) for probe in findings["probes"] if probe["purpose"] == "control"]
    assert controls == [("base", "failed"), ("candidate", "candidate")]
    assert any("The agent itself ran" in text for text in findings["assumptions"])
    new = models.questions[before:]
    assert sorted(new) == sorted({*new})
    assert {question for question in new if question in RATINGS} == {(GENEROUS, 0.0), (STRICT, 0.5)}
    assert findings["live_calls"] == len(new)
    again = ended(server, post(server, f"/diffs/{diff}/prove", proof_body())["id"])["findings"]
    assert (again["verdict"], again["live_calls"], len(models.questions)) == ("single", 0, before + len(new))
    # Whoever follows the recordings now has every answer, and not what the code makes of it.
    follow = ended(server, post(server, f"/diffs/{diff}/prove", {**proof_body(), "engine": "follow"})["id"])
    assert follow["findings"]["verdict"] == "inconclusive"


def test_change_of_code_is_blamed_on_nothing_that_was_recorded(
    server: Server, models: RatingModels, base: str, start_runner: StartRunner
) -> None:
    candidate = recorded(server, STRICT, "0.5", "10")
    diff = diff_of(server, base, candidate)
    start_runner(DESK_AGENT, STRICT, "0.5", "10", os.devnull)
    findings = ended(server, post(server, f"/diffs/{diff}/prove", proof_body(live_calls=20))["id"])["findings"]
    assert (findings["verdict"], findings["primary"]) == ("inconclusive", [])
    assert "was not recorded" in findings["conclusion"]


def test_another_agent_is_no_evidence(
    server: Server, models: RatingModels, base: str, start_runner: StartRunner
) -> None:
    candidate = recorded(server, GENEROUS, "0.5", "50")
    diff = diff_of(server, base, candidate)
    start_runner(DESK_AGENT, "Rate something else.", "0", "50", os.devnull)
    findings = ended(server, post(server, f"/diffs/{diff}/prove", proof_body(live_calls=20))["id"])["findings"]
    assert (findings["verdict"], findings["primary"], findings["live_calls"]) == ("inconclusive", [], 0)
    assert "does not do what is recorded" in findings["conclusion"]


def test_repeats_of_the_agent_rule_out_chance(
    server: Server, models: RatingModels, base: str, start_runner: StartRunner
) -> None:
    """Each repeat is a start of the agent with new answers of the model; enough of them make the cause certain."""
    candidate = recorded(server, GENEROUS, "0.5", "50")
    diff = diff_of(server, base, candidate)
    start_runner(DESK_AGENT, GENEROUS, "0.5", "50", os.devnull, options=("--parallel", "2"))
    before = len(models.questions)
    body = proof_body(live_calls=200, repeats=16)
    findings = ended(server, post(server, f"/diffs/{diff}/prove", body)["id"])["findings"]
    assert (findings["verdict"], findings["confidence"], findings["agent_ran"]) == ("single", "high", True), findings
    noise = findings["noise"]
    assert (noise["status"], noise["base_flips"], noise["candidate_flips"]) == ("rejected", 0, 0)
    assert min(noise["base_n"], noise["candidate_n"]) >= 4
    assert findings["live_calls"] == len(models.questions) - before > 0
