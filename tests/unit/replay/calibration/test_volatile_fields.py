"""Detection of volatile fields, and the effect of ignoring them."""

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.calibration.core.volatile_fields import RecordedCall, SignatureCache, collisions, differences, propose
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.signatures.ignore_rules import NO_RULES, IgnoreRule, IgnoreRules, ReductionCache, remove_field
from traces.signatures.volatile_values import kind_of, mask, masking

UUID = "0b6e1c1e-5d3f-4e0a-9a51-7b0f7a1d2c3e"
OTHER = "9f0d2a34-11aa-4c1e-8f63-0d9b6c5e4f21"


def call(
    input: JSONValue,
    *,
    side: Literal["base", "candidate"] = "base",
    no: int = 1,
    answer: str = "same",
    tool: str = "search",
) -> RecordedCall:
    return RecordedCall(
        side=side,
        no=no,
        type=StepType.TOOL,
        name=tool,
        tool_name=tool,
        provider="",
        model="",
        input=input,
        answer=answer,
    )


def pair(base: JSONValue, candidate: JSONValue, no: int = 1) -> tuple[RecordedCall, RecordedCall]:
    return call(base, no=no), call(candidate, side="candidate", no=no)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (UUID, "uuid"),
        ("2026-11-20T10:00:00.123Z", "timestamp"),
        ("2026-11-20 10:00", "timestamp"),
        (1_763_600_000, "timestamp"),
        (1_763_600_000.25, "timestamp"),
        (1_763_600_000_123, "timestamp"),
        ("4bf92f3577b34da6a3ce929d0e0e4736", "hex"),
        ("2026-11-20", "date"),
        ("call_x8Kq2mPz", "id"),
        ("A-1042", None),
        ("v2", None),
        (42, None),
        (True, None),
        (None, None),
        ("two words 2026", None),
        ("customer", None),
        ("2125551234", None),
        (["x"], None),
    ],
)
def test_value_kinds(value: JSONValue, kind: str | None) -> None:
    assert kind_of(value) == kind


def test_mask_covers_times_and_ids_only() -> None:
    text = f"Order A-1042 at 2026-11-20T10:00:00Z by {UUID} for 4200"
    assert mask(mask(text, "uuid"), "timestamp") == "Order A-1042 at <timestamp> by <uuid> for 4200"
    assert masking("pay 100", "pay 900") is None
    assert masking("now 2026-11-20 10:00", "now 2026-11-21 11:30") == "timestamp"


def test_call_id_is_proposed_with_its_pairs() -> None:
    pairs = [pair({"q": "rain", "request_id": UUID}, {"q": "rain", "request_id": OTHER}, no) for no in (3, 7)]
    [found] = propose(pairs).proposals
    assert (found.rule.type, found.rule.name, found.rule.pointer, found.rule.within) == (
        "tool",
        "search",
        "/request_id",
        None,
    )
    assert (found.kind, found.pairs, found.unifies, found.recommended) == ("uuid", 2, 2, True)
    assert [(step.base, step.candidate) for step in found.steps] == [(3, 3), (7, 7)]
    assert found.examples[0].base == UUID


def test_list_items_share_one_field() -> None:
    rows: list[JSONValue] = [{"at": f"2026-11-20T10:00:0{n}Z", "x": n} for n in range(3)]
    later: list[JSONValue] = [{"at": f"2026-12-24T18:30:0{n}Z", "x": n} for n in range(3)]
    [found] = propose([pair({"rows": rows}, {"rows": later})]).proposals
    assert (found.rule.pointer, found.unifies) == ("/rows/*/at", 1)


def test_meaningful_differences_are_not_proposed() -> None:
    pairs = [pair({"q": "rain"}, {"q": "snow"}), pair({"n": 100}, {"n": 900}), pair({"l": [1]}, {"l": [1, 2]})]
    outcome = propose(pairs)
    assert (outcome.proposals, outcome.equal_pairs) == ([], [])
    assert [each.pointer for each in outcome.left] == ["/q", "/n", "/l"]


def test_other_differences_prevent_unification() -> None:
    [found] = propose([pair({"q": "rain", "id": UUID}, {"q": "snow", "id": OTHER})]).proposals
    assert (found.pairs, found.unifies, found.recommended) == (1, 0, False)


@pytest.mark.parametrize(
    ("base", "candidate", "recommended"),
    [
        ({"on": "2026-11-20"}, {"on": "2026-11-21"}, False),  # for which day
        ({"payment": "card_44214867"}, {"payment": "certificate_7504069"}, False),  # which one
        ({"trace_id": "req_44214867a"}, {"trace_id": "req_7504069bc"}, True),
        ({"seq": 4}, {"seq": 9}, True),
        ({"note": "seen 2026-11-20T10:00Z ok"}, {"note": "seen 2026-11-21T11:00Z ok"}, True),
    ],
)
def test_recommendation_depends_on_meaning(base: JSONValue, candidate: JSONValue, recommended: bool) -> None:
    [found] = propose([pair(base, candidate)]).proposals
    assert (found.unifies, found.recommended) == (1, recommended)


def test_merged_different_calls_are_collisions() -> None:
    pairs = [pair({"session": UUID}, {"session": OTHER})]
    calls = [call({"session": UUID}, no=1, answer="a"), call({"session": OTHER}, no=2, answer="b")]
    [checked] = propose(pairs, lambda types: calls).proposals
    assert ([found.steps for found in checked.collisions], checked.recommended) == ([[1, 2]], False)
    harmless = [call({"session": UUID}, no=1), call({"session": OTHER}, no=2)]
    assert propose(pairs, lambda types: harmless).proposals[0].recommended


def test_joint_collisions_prevent_recommendation() -> None:
    """The same question twice, with different ids, times and answers."""
    early, late = "2026-11-20T10:00Z", "2026-11-21T11:00Z"
    pairs = [pair({"session": UUID, "at": early}, {"session": OTHER, "at": late})]
    calls = [call({"session": UUID, "at": early}, answer="a"), call({"session": OTHER, "at": late}, no=2, answer="b")]
    found = propose(pairs, lambda types: calls).proposals
    assert [(len(each.collisions), each.recommended) for each in found] == [(1, False)] * 2


def test_unification_assumes_recommended_rules_only() -> None:
    """An id makes no calls equal if they also differ in a date, which is meaningful."""
    both = pair({"session": UUID, "on": "2026-11-20"}, {"session": OTHER, "on": "2026-11-21"})
    assert [(each.unifies, each.recommended) for each in propose([both]).proposals] == [(0, False), (0, False)]
    alone = pair({"session": UUID, "on": "2026-11-20"}, {"session": OTHER, "on": "2026-11-20"}, 2)
    unifies = {each.kind: (each.unifies, each.recommended) for each in propose([both, alone]).proposals}
    assert unifies == {"uuid": (1, True), "date": (1, False)}


leaves = st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.text(max_size=4))
values: Any = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc*/~"), inner)),
    max_leaves=12,
)
paths = st.lists(st.sampled_from([*"abc*/~", "0", "1"]), min_size=1, max_size=3).map(tuple)


@given(values, values)
def test_differences_are_complete_and_real(before: JSONValue, after: JSONValue) -> None:
    found = list(differences(before, after))
    assert (not found) is (digest(before) == digest(after))
    assert all(digest(one) != digest(other) for _, one, other in found)


@given(values, paths)
def test_remove_field_is_idempotent_and_pure(value: JSONValue, path: tuple[str, ...]) -> None:
    before = digest(value)
    once = remove_field(value, path, None)
    assert digest(remove_field(once, path, None)) == digest(once)
    assert digest(value) == before


@given(st.lists(values, max_size=4), st.lists(paths, min_size=1, max_size=3))
def test_cached_reductions_equal_fresh_ones(given: list[JSONValue], ways: list[tuple[str, ...]]) -> None:
    known = ReductionCache()
    calls: list[JSONValue] = [[*given], {"a": [*given]}, [*given]]  # they share their entries
    for value in calls:
        for path in ways:
            assert digest(remove_field(value, path, None, known)) == digest(remove_field(value, path, None))


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["q", "request_id", "at"]), st.sampled_from(["x", "y", UUID, OTHER])),
        max_size=6,
    )
)
def test_proposals_unify_the_listed_pairs(inputs: list[dict[str, JSONValue]]) -> None:
    pairs = [pair(one, other, no) for no, (one, other) in enumerate(zip(inputs, reversed(inputs), strict=True), 1)]
    outcome = propose(pairs)
    ignoring = IgnoreRules(rules=tuple(each.rule for each in outcome.proposals), version=1)
    shared = SignatureCache()
    equal = [
        base.no
        for base, candidate in pairs
        if base.signature_under(ignoring, shared) == candidate.signature_under(ignoring, shared)
    ]
    assert [each.base for each in outcome.equal_pairs] == equal


@given(st.lists(st.tuples(st.sampled_from([UUID, OTHER, "x"]), st.sampled_from("ab")), max_size=6))
def test_collisions_find_all_merged_calls(made: list[tuple[str, str]]) -> None:
    calls = [call({"id": value}, no=no, answer=answer) for no, (value, answer) in enumerate(made)]
    ignoring, shared = IgnoreRules(rules=(IgnoreRule(type="tool", pointer="/id"),)), SignatureCache()
    several = (
        len({one.signature_under(NO_RULES, shared) for one in calls}) > 1 and len({one.answer for one in calls}) > 1
    )
    assert bool(collisions(ignoring, calls, shared)) is several


_DAYS = ("2026-11-20", "2026-11-21")
_MOMENTS = ("2026-11-20T10:00Z", "2026-11-21T11:00Z")
_CALLS = st.fixed_dictionaries(
    {
        "q": st.sampled_from("ab"),
        "request_id": st.sampled_from([UUID, OTHER]),
        "at": st.sampled_from(_MOMENTS),
        "on": st.sampled_from(_DAYS),
    }
)


@given(st.lists(st.tuples(_CALLS, _CALLS, st.sampled_from("xy"), st.sampled_from("xy")), min_size=1, max_size=6))
def test_proposals_have_the_stated_effect(made: list[tuple[JSONObject, JSONObject, str, str]]) -> None:
    """Recordings with known differences: a question, an id, a time and a day."""
    pairs = [
        (call(one, no=no, answer=first), call(other, side="candidate", no=no, answer=second))
        for no, (one, other, first, second) in enumerate(made, 1)
    ]
    found = propose(pairs, lambda types: [each for pair in pairs for each in pair]).proposals
    chosen = {each.rule.pointer[1:] for each in found if each.recommended}
    assert "on" not in chosen
    for each in found:
        field, ignored = each.rule.pointer[1:], chosen | {each.rule.pointer[1:]}
        differ = [no for no, (one, other, *_) in enumerate(made, 1) if one[field] != other[field]]
        equal = [no for no in differ if _kept(made[no - 1][0], ignored) == _kept(made[no - 1][1], ignored)]
        assert (each.pairs, [step.base for step in each.steps]) == (len(differ), equal)
    for side in (0, 1):
        answers: dict[str, set[tuple[str, str]]] = {}
        for recorded in made:
            one, answer = (recorded[:2][side], recorded[2:][side])
            answers.setdefault(_kept(one, chosen), set()).add((digest(one), answer))
        for alike in answers.values():  # nothing that is recommended confuses different calls
            assert not chosen or len({one for one, _ in alike}) == 1 or len({answer for _, answer in alike}) == 1


def _kept(one: JSONObject, ignored: set[str]) -> str:
    return digest({name: value for name, value in one.items() if name not in ignored})


def test_label_key_lists_ignored_fields() -> None:
    ignoring = IgnoreRules(
        rules=(IgnoreRule(type="tool", name="search", pointer="/at", within="timestamp"),), version=3
    )
    assert ignoring.key["ignore_list"] == 3
    assert "tool search: /at (timestamp)" in str(ignoring.key["ignored"])
    assert NO_RULES.key == {}
    signed = ignoring.signature(
        type=StepType.TOOL, name="search", input={"at": "2026-11-20T10:00Z"}, tool_name="search"
    )
    assert signed.startswith(f"sig:v1~{ignoring.digest[:12]}:")
    assert len(signed) <= 96
    assert ignoring.signature(type=StepType.MODEL, name="m", input={}) == ""
