"""Proofs of an outcome: by the app's outcome rule or one judgement, produced again by replays or refused beforehand."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from tests.support import proofs
from tests.support.proofs import HELPFUL, RuleDesk, live, post, setting, system
from tests.support.replay_runs import Reply, order_desk
from traces.core.recorded_run import RecordedJudgement, RecordedStep
from traces.core.vocabulary import JudgementKind, StepStatus, StepType
from traces.models import Run, RunOutcome
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
no_queue, rule_desk = proofs.no_queue, proofs.rule_desk
REFUND: dict[str, Any] = {"kind": "contains", "text": "refund"}


def _judge(client: Client, run: UUID | str, **body: Any) -> None:
    assert post(client, f"/runs/{run}/judgements", body).status_code == 201


def _preview(client: Client, diff: str, **request: Any) -> Any:
    return post(client, f"/diffs/{diff}/prove/preview", request).json()


def _recorded(
    name: str, answer: str, *judgements: RecordedJudgement, steps: Sequence[RecordedStep] = (), **more: Any
) -> str:
    run = order_desk([("What about A-1?", (Reply(answer),))], external_id=name, **more)
    return str(record(replace(run, judgements=judgements, steps=(*run.steps, *steps))).run_id)


def _score(value: float, name: str = "helpful") -> RecordedJudgement:
    return RecordedJudgement(name=name, kind=JudgementKind.SCORE, value=value)


def _diff(client: Client, base: str, candidate: str) -> str:
    return str(post(client, "/diffs", {"base": base, "candidate": candidate}).json()["id"])


def test_cause_of_a_judged_outcome_is_proved(rule_desk: RuleDesk) -> None:
    """People judged both runs. A check with the same name judges the replays."""
    rule_desk.rule.append(lambda call: "Have a refund." if "Offer a refund." in call.system else "It is lost.")
    diff = rule_desk.diff(system(HELPFUL), setting(temperature=0.7))
    report = rule_desk.client.get(f"/api/v1/diffs/{diff}").json()
    fork = report["candidate"]["id"]
    _judge(rule_desk.client, rule_desk.run, kind="fail", name="resolved")
    unjudged = _preview(rule_desk.client, diff, question="outcome")
    assert "the outcome of the candidate is unknown" in unjudged["refusals"][1]["detail"]
    _judge(rule_desk.client, fork, kind="pass", name="resolved")
    for request in ({"question": "outcome"}, {"question": "judgement", "judgement": "resolved"}):
        [refusal, *_] = _preview(rule_desk.client, diff, **request)["refusals"]
        assert refusal["detail"].startswith(
            "the base failed by the person's judgement “resolved”, which a replay cannot"
        )
        assert "add a check named “resolved”" in refusal["detail"]
        refused = post(rule_desk.client, f"/diffs/{diff}/prove", request)
        assert (refused.status_code, refused.json()["where"]) == (422, "/checks")
    checks = [{**REFUND, "name": "resolved"}]
    findings = rule_desk.prove(diff, **live(question="outcome", checks=checks))
    assert (findings["verdict"], findings["confidence"]) == ("single", "high")
    text = "whether the run passes by its app's outcome rule; replays are judged by resolved"
    assert (findings["question"]["kind"], findings["question"]["text"]) == ("outcome", text)
    assert {atom["title"]: atom["sufficient"] for atom in findings["atoms"]} == {
        "Adding “Offer a refund.” to the system prompt": True,
        "Setting temperature of model steps to 0.7": False,
    }


def test_score_decides_with_a_bound(client: Client, no_queue: list[tuple[str, str]]) -> None:
    base, candidate = (
        _recorded("a", "It is lost.", _score(0.2)),
        _recorded("b", "Your refund.", _score(0.9), model="m2"),
    )
    diff = _diff(client, base, candidate)
    request: dict[str, Any] = {
        "question": "judgement",
        "judgement": "helpful",
        "checks": [{**REFUND, "name": "helpful"}],
    }
    assert "set `at_least` or `at_most`" in _preview(client, diff, **request)["refusals"][0]["detail"]
    plan = _preview(client, diff, **request, at_least=0.5)
    assert (plan["refusals"], plan["differs"]) == ([], True)
    assert (plan["base_outcome"], plan["candidate_outcome"]) == (
        "failed (helpful: the answer does not contain the text)",
        "passed (helpful)",
    )
    rule = {"thresholds": {"helpful": {"at_least": 0.95}}}
    client.put("/api/v1/outcome-rules/desk", rule, content_type="application/json")
    assert "but by its recording it failed (helpful 0.9)" in _preview(client, diff, **request)["refusals"][0]["detail"]


def test_check_has_to_agree_with_the_judgement(client: Client, no_queue: list[tuple[str, str]]) -> None:
    reward = [_score(value, "reward") for value in (0.0, 1.0)]
    diff = _diff(
        client, _recorded("a", "It is lost.", reward[0]), _recorded("b", "Your refund.", reward[1], model="m2")
    )
    checks = [{"kind": "contains", "text": "lost", "name": "reward"}]
    details = [refusal["detail"] for refusal in _preview(client, diff, question="outcome", checks=checks)["refusals"]]
    assert len(details) == 2
    assert details[0] == (
        "under these checks the base passed (reward), but by its recording it failed (reward 0): use checks "
        "that agree with the recorded judgement"
    )


def _validator(status: str) -> RecordedStep:
    return RecordedStep(
        key="check",
        type=StepType.VALIDATOR,
        name="offers a refund",
        status=StepStatus.OK if status == "pass" else StepStatus.ERROR,
        output={"decision": status},
    )


def test_validators_of_the_recordings_are_compared(client: Client, no_queue: list[tuple[str, str]]) -> None:
    base = _recorded("a", "It is lost.", steps=[_validator("fail")])
    candidate = _recorded("b", "Your refund.", steps=[_validator("pass")], model="m2")
    diff = _diff(client, base, candidate)
    plan = _preview(client, diff, question="outcome")
    assert (plan["refusals"], plan["base_outcome"], plan["candidate_outcome"]) == (
        [],
        "failed (offers a refund)",
        "passed (offers a refund)",
    )


@pytest.mark.parametrize(
    ("request_body", "where"),
    [
        ({"question": "judgement"}, "/judgement"),
        ({"question": "answer", "judgement": "reward"}, "/judgement"),
        ({"question": "judgement", "judgement": "reward", "at_least": 1, "at_most": 2}, "/at_most"),
    ],
)
def test_malformed_choices_are_refused(
    client: Client, no_queue: list[tuple[str, str]], request_body: dict[str, Any], where: str
) -> None:
    diff = _diff(client, _recorded("a", "It is lost."), _recorded("b", "Your refund.", model="m2"))
    assert [refusal["where"] for refusal in _preview(client, diff, **request_body)["refusals"]] == [where]


def test_fork_has_no_outcome_of_its_source(rule_desk: RuleDesk) -> None:
    rule_desk.rule.append(lambda call: "It is lost.")
    _judge(rule_desk.client, rule_desk.run, kind="pass")
    rule_desk.diff(setting(temperature=0.7))
    fork = Run.objects.get(source_run=rule_desk.run)
    assert RunOutcome.objects.get(run=fork).outcome == "unknown"
