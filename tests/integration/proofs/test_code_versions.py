"""Two recordings of a customs desk: its tool's result has another day, and its code computed another duty."""

from typing import Any, Final
from uuid import UUID

import pytest
from django.test import Client

from tests.support import proofs
from tests.support.proofs import post, work_off
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
no_queue = proofs.no_queue
VERSIONS: Final[tuple[JSONObject, JSONObject]] = ({"logic": "a", "source": "a"}, {"logic": "b", "source": "b"})


def model_step(name: str, request: str, answer: str) -> RecordedStep:
    return RecordedStep(
        key=name,
        type=StepType.MODEL,
        name=name,
        parent="agent",
        provider="desk",
        model="m1",
        input={"messages": [{"role": "system", "content": f"{name}."}, {"role": "user", "content": request}]},
        output={"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"},
    )


def record_desk(name: str, day: str, duty: str, metadata: JSONObject) -> UUID:
    steps = (
        RecordedStep(key="agent", type=StepType.AGENT, name="desk", input={"task": "a shirt"}),
        model_step("reader", "a shirt", "Clothes."),
        RecordedStep(
            key="tool",
            type=StepType.TOOL,
            name="get_course",
            parent="agent",
            tool_name="get_course",
            input={"money": "euros"},
            output={"course": 0.95, "day": day},
        ),
        model_step("broker", f"Duty: {duty}", f"Pay {duty}."),
        RecordedStep(key="said", type=StepType.OUTPUT, name="answer", parent="agent", output={"text": f"Pay {duty}."}),
    )
    run = RecordedRun(external_id=name, name="desk", app="desk", format="test", steps=steps, metadata=metadata)
    return UUID(str(record(run).run_id))


def findings_of(client: Client, queue: list[tuple[str, str]], *metadata: JSONObject) -> dict[str, Any]:
    base = record_desk("one", "May 4", "33.60 francs", metadata[0])
    candidate = record_desk("two", "May 9", "79.80 francs", metadata[1])
    diff = post(client, "/diffs", {"base": str(base), "candidate": str(candidate)}).json()["id"]
    work_off(queue)
    proof = post(client, f"/diffs/{diff}/prove").json()
    work_off(queue)
    findings: dict[str, Any] = client.get(f"/api/v1/proofs/{proof['id']}").json()["findings"]
    return findings


@pytest.mark.parametrize("is_declared", [False, True])
def test_result_is_not_blamed_for_what_other_code_composed(
    client: Client, no_queue: list[tuple[str, str]], is_declared: bool
) -> None:
    metadata: list[JSONObject] = [{"code": version} if is_declared else {} for version in VERSIONS]
    findings = findings_of(client, no_queue, *metadata)
    categories = [atom["category"] for atom in findings["atoms"] if atom["parent"] is None]
    # Also without declared versions: no text that code composed contains the other day.
    assert (findings["verdict"], categories) == ("inconclusive", ["upstream", "tool"])
    assert any("different versions of the agent's code" in text for text in findings["assumptions"]) is is_declared
