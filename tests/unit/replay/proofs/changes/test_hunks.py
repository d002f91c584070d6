"""Changed values in parts: all of them make the candidate, none the base, and each can be made alone."""

from hypothesis import example, given
from hypothesis import strategies as st

from replay.proofs.changes.hunks import divide
from traces.core.canonical import digest
from traces.core.json_types import JSONValue

_WORDS = st.lists(
    st.sampled_from(["refund", "in", "euros.", "cents.", "\n", "Be", "brief.", "a", "b", "!", "3.14", "a.py?b"]),
    max_size=12,
)
TEXTS = _WORDS.map(" ".join)
LEAVES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["x", "y", "Two words. Here."])
VALUES: st.SearchStrategy[JSONValue] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)


@given(TEXTS, TEXTS)
def test_text_is_rebuilt_from_its_parts(base: str, candidate: str) -> None:
    check(base, candidate)


@given(VALUES, VALUES)
@example([0, False, 0], [0, 0, 0])
@example([[False], 1], [[0], 1])
def test_value_is_rebuilt_from_its_parts(base: JSONValue, candidate: JSONValue) -> None:
    check(base, candidate)


def check(base: JSONValue, candidate: JSONValue) -> None:
    division = divide(base, candidate)
    if division is None:
        return
    assert len(division.parts) > 1
    assert digest(division.build([part.base for part in division.parts])) == digest(base)
    assert digest(division.build([part.candidate for part in division.parts])) == digest(candidate)
    for part in division.parts:
        assert digest(part.base) != digest(part.candidate)  # in Python, True is 1
        assert part.title


def test_new_sentence_is_one_part() -> None:
    base = "You are the desk. Refund orders in euros. Be kind."
    division = divide(base, "You are the desk. Refund orders in cents. Be kind. Cite the policy.")
    assert division is not None
    assert [part.title for part in division.parts] == [
        "Changing “euros” to “cents” in the text",
        "Adding “Cite the policy.” to the text",
    ]
    only_first = division.build([division.parts[0].candidate, division.parts[1].base])
    assert only_first == "You are the desk. Refund orders in cents. Be kind."
    assert divide(base, f"{base}\n\nCite the policy.") is None


def test_reworded_sentence_divides_into_stretches() -> None:
    division = divide("Refund at most 200 euros per order.", "Refund at most 50 euros per week.")
    assert division is not None
    assert [(part.base, part.candidate) for part in division.parts] == [("200 ", "50 "), ("order", "week")]


def test_documents_are_parts_by_content() -> None:
    def document(name: str) -> JSONValue:
        return {"id": name, "content": f"about {name}"}

    division = divide([document("a"), document("b"), document("c")], [document("x"), document("b"), document("d")])
    assert division is not None
    assert [part.title for part in division.parts] == ["“x” instead of “a”", "“d” instead of “c”"]


def test_new_field_can_be_left_out() -> None:
    division = divide({"status": "ok", "total": 42}, {"status": "refused", "total": 42, "why": "limit"})
    assert division is not None
    assert division.build([division.parts[0].candidate, division.parts[1].base]) == {"status": "refused", "total": 42}
