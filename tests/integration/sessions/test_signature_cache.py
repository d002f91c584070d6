"""A call is answered by the same call of any sealed run of the app, where that really was an answer."""

from typing import Any

import pytest

from replay.store import call_cache
from traces.core.vocabulary import Label, Reason, RunStatus, StepStatus, StepType
from traces.ingest.step_rows import StepRow
from traces.models import Artifact, Step
from traces.runs import services
from traces.signatures.call_signatures import signature
from traces.storage import artifacts

pytestmark = pytest.mark.django_db
ARGUMENTS: Any = {"order_id": "A-1"}
CALL = signature(type=StepType.TOOL, name="get_order", input=ARGUMENTS)


def answered(
    output: Any = "shipped",
    *,
    app: str = "desk",
    label: Label = Label.LIVE,
    reason: Reason | str = "",
    status: StepStatus = StepStatus.OK,
    sealed: bool = True,
) -> Step:
    """The call with its answer, in a run of its own."""
    run = services.open_run(name="desk", app=app)
    row = StepRow(
        sequence_no=1,
        type=StepType.TOOL,
        name="get_order",
        status=status,
        label=label,
        reason=reason,
        signature=CALL,
        input_ref=artifacts.save(ARGUMENTS),
        output_ref=artifacts.save(output),
    )
    services.append_steps(run.id, [row])
    if sealed:
        services.seal_run(run.id, RunStatus.COMPLETED)
    return Step.objects.get(run=run)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (Label.LIVE, ""),
        (Label.SIMULATED, Reason.LIVE_TOOL),
        (Label.SIMULATED, Reason.LIVE_MODEL),
        (Label.SIMULATED, Reason.LIVE_RETRIEVAL),
    ],
)
def test_what_was_really_answered_answers_again(label: Label, reason: Reason) -> None:
    step = answered(label=label, reason=reason)
    hit = call_cache.lookup("desk", CALL)
    assert hit is not None
    assert (hit.output, hit.location["run"], hit.location["step"]) == ("shipped", str(step.run_id), 1)
    assert call_cache.lookup("desk", CALL, exclude=[step.id]) is None


@pytest.mark.parametrize(
    "reason",
    [
        Reason.OPERATOR_OVERRIDE,
        Reason.POLICY_FALLBACK,
        Reason.SIDE_EFFECT_BLOCKED,
        Reason.DENIED,
        Reason.STOPPED,
        Reason.DUPLICATE_SUPPRESSED,
    ],
)
def test_what_nobody_answered_never_answers_another_replay(reason: Reason) -> None:
    answered(label=Label.SIMULATED, reason=reason)
    assert call_cache.lookup("desk", CALL) is None


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (Label.EXACT, Reason.SOURCE_OUTPUT_REUSED),
        (Label.CACHED, Reason.CACHE_SIGNATURE),
        (Label.CACHED, Reason.CACHE_SEMANTIC),
    ],
)
def test_a_copy_never_answers_for_it_may_be_one_of_a_what_if_or_of_another_call(label: Label, reason: Reason) -> None:
    answered(label=label, reason=reason)
    assert call_cache.lookup("desk", CALL) is None


@pytest.mark.parametrize(
    "other", [{"app": "shop"}, {"sealed": False}, {"status": StepStatus.ERROR}, {"status": StepStatus.DENIED}]
)
def test_other_apps_open_runs_and_failures_do_not_answer(other: Any) -> None:
    answered(**other)
    assert call_cache.lookup("desk", CALL) is None


def test_of_several_answers_the_newest_that_can_be_read_counts() -> None:
    answered("older")
    answered("newer")
    lost = answered("lost")
    with services.retention():
        Artifact.objects.filter(sha256=lost.output_ref).delete()
    hit = call_cache.lookup("desk", CALL)
    assert hit is not None
    assert hit.output == "newer"
