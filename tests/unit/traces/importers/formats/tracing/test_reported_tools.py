"""Reports of the SDK in place of tools that the gateway read from a conversation."""

from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.formats.tracing.reported_tools import SDK_REPORT, replace_inferred


def call(key: str, *, status: StepStatus = StepStatus.OK, **more: object) -> RecordedStep:
    facts = {"tool_name": "check", "input": {"id": "A-1"}, **more}
    return RecordedStep(key=key, type=StepType.TOOL, name="check", status=status, **facts)  # type: ignore[arg-type]


def test_report_that_was_cut_off_gets_its_outcome_from_the_conversation() -> None:
    report = call("s1", status=StepStatus.PARTIAL, attributes={"intercepted": True})
    inside = call("s2", parent="s1", status=StepStatus.PARTIAL, input={})
    guess = call("g1", output='"fine"', call_id="c1")
    step, child = replace_inferred([report, inside, guess], ["g1"])
    assert (step.key, step.status, step.output, step.call_id) == ("g1", StepStatus.OK, '"fine"', "c1")
    # What the tool returned is not known.
    assert step.attributes == {"intercepted": True}
    assert child.parent == "g1"


def test_complete_report_precedes_one_that_was_cut_off() -> None:
    reports = [call("s1", status=StepStatus.PARTIAL), call("s2", output="fine")]
    steps = replace_inferred([*reports, call("g1", output='"fine"')], ["g1"])
    assert [(step.key, step.status, step.output) for step in steps] == [
        ("s1", StepStatus.PARTIAL, None),
        ("g1", StepStatus.OK, "fine"),
    ]
    assert steps[1].attributes[SDK_REPORT] is True
