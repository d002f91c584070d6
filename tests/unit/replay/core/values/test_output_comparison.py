"""Outputs compared with recorded ones: by the reference of the recording, or by their messages."""

from hypothesis import example, given
from hypothesis import strategies as st

from replay.core.values.output_comparison import References, is_same_answer, message_digest
from traces.core.json_types import JSONValue
from traces.payloads.splitter import split

scalars = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.floats(-2, 2), st.sampled_from(["", "a", "1"]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["message", "b"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.lists(values, max_size=8))
def test_reference_is_that_of_the_stored_value(outputs: list[JSONValue]) -> None:
    references = References()
    for output in [*outputs, *outputs]:
        assert references.reference_of(output) == ("" if output is None else split(output).digest)


@given(values, values)
@example({"message": True}, {"message": 1})
@example({"message": 1.0}, {"message": 1})
@example({"message": {"content": "a"}, "b": 1}, {"message": {"content": "a"}, "b": 2})
@example("a", {"message": "a"})
def test_answers_are_the_same_if_their_messages_have_one_digest(first: JSONValue, second: JSONValue) -> None:
    assert is_same_answer(first, second) == (message_digest(first) == message_digest(second))
