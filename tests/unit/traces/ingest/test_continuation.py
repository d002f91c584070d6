"""Which recordings continue each other."""

from hypothesis import given
from hypothesis import strategies as st

from traces.core.vocabulary import StepType
from traces.ingest.continuation import Relation, StepState, are_complements, is_unchanged, relation

ASK = StepState("ask", StepType.MODEL, "question", "call")
LOOK = StepState("look", StepType.TOOL, "arguments", "result")
TELL = StepState("tell", StepType.MODEL, "history", "answer")
STEPS = [ASK, LOOK, TELL]
TYPES = st.sampled_from([StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.AGENT, StepType.OUTPUT])
RECORDINGS = st.lists(
    st.builds(
        StepState, key=st.uuids().map(str), type=TYPES, input_ref=st.text("ab", max_size=2), output_ref=st.just("o")
    ),
    min_size=1,
    unique_by=lambda state: state.key,
)


@given(RECORDINGS, st.integers(min_value=0))
def test_recording_continues_its_beginning(steps: list[StepState], cut: int) -> None:
    beginning = steps[: cut % (len(steps) + 1)]
    assert relation(beginning, steps) is Relation.EXTENDS


@given(RECORDINGS, st.integers(min_value=0))
def test_beginning_precedes_recording(steps: list[StepState], cut: int) -> None:
    assert relation(steps, steps[: cut % len(steps)]) is Relation.PRECEDES


def test_final_output_may_move_to_a_shorter_list() -> None:
    final = StepState("output", StepType.OUTPUT, "", "answer")
    assert relation([*STEPS, final], STEPS) is Relation.PRECEDES
    assert relation(STEPS, [*STEPS, final]) is Relation.EXTENDS


def test_step_may_have_ended_meanwhile() -> None:
    assert relation([ASK, LOOK._replace(output_ref="")], STEPS) is Relation.EXTENDS


def test_last_answer_may_grow_if_steps_follow() -> None:
    assert relation([ASK._replace(output_ref="first words")], STEPS) is Relation.EXTENDS
    assert relation([ASK, LOOK, TELL._replace(output_ref="other")], STEPS) is Relation.CONFLICTS


def test_another_last_answer_is_no_growth() -> None:
    later = [ASK._replace(summary="The refund is 42 EUR."), LOOK]
    same, other = (ASK._replace(output_ref="first", summary=text) for text in ("The refund", "No refund"))
    assert (relation(later, [same]), relation([same], later)) == (Relation.PRECEDES, Relation.EXTENDS)
    assert (relation(later, [other]), relation([other], later)) == (Relation.CONFLICTS, Relation.CONFLICTS)


def test_calls_may_follow_the_text_of_the_last_answer() -> None:
    text, call, calls = (
        ASK._replace(output_ref=summary, summary=summary)
        for summary in ("I look it up", "asks for look", "asks for look, count")
    )
    assert relation([text], [calls, LOOK]) is relation([call], [calls, LOOK]) is Relation.EXTENDS
    assert relation([call._replace(summary="asks for delete")], [calls, LOOK]) is Relation.CONFLICTS


def test_earlier_answer_must_not_change() -> None:
    assert relation([ASK._replace(output_ref="other"), LOOK, TELL], [*STEPS, LOOK._replace(key="more")]) is (
        Relation.CONFLICTS
    )


def test_container_and_final_output_follow_the_steps() -> None:
    agent = StepState("agent", StepType.AGENT, "task", "call")
    final = StepState("output", StepType.OUTPUT, "", "call")
    grown = [agent._replace(output_ref="answer"), *STEPS, final._replace(output_ref="answer")]
    assert relation([agent, ASK, final], grown) is Relation.EXTENDS


def test_step_with_another_type_conflicts() -> None:
    assert relation([LOOK], [LOOK._replace(type=StepType.RETRIEVAL), TELL]) is Relation.CONFLICTS


def test_recordings_with_steps_of_their_own_conflict() -> None:
    assert relation([ASK, LOOK], [ASK, TELL]) is Relation.CONFLICTS


def test_only_containers_may_change_their_payloads() -> None:
    assert [is_unchanged(step, step._replace(output_ref="other")) for step in STEPS] == [False] * 3
    agent = StepState("agent", StepType.AGENT, "task", "")
    assert is_unchanged(agent, agent._replace(output_ref="answer"))
    assert not is_unchanged(agent, agent._replace(type=StepType.TURN))
    assert not is_unchanged(ASK, LOOK)


def test_parts_with_equal_common_steps_complement_each_other() -> None:
    assert are_complements([ASK, LOOK], [TELL])
    assert are_complements([ASK, LOOK._replace(output_ref="")], [LOOK, TELL])
    assert not are_complements([ASK, LOOK], [LOOK._replace(output_ref="other"), TELL])
    assert not are_complements([ASK, LOOK], [LOOK._replace(type=StepType.AGENT), TELL])


@given(RECORDINGS)
def test_part_of_a_recording_is_no_complement(steps: list[StepState]) -> None:
    assert not are_complements(steps, steps[1:])
    assert not are_complements(steps[:1], steps)


def test_step_that_calls_another_tool_is_another_step() -> None:
    find, buy = (LOOK._replace(tool_name=name) for name in ("find", "buy"))
    assert relation([ASK, find], [ASK, buy]) is Relation.CONFLICTS
    assert relation([ASK, LOOK], [ASK, find]) is Relation.EXTENDS
    assert not are_complements([ASK, find], [buy, TELL])
    assert are_complements([ASK, find], [LOOK, TELL])
