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
OTHER_UUID = "9f0d2a34-11aa-4c1e-8f63-0d9b6c5e4f21"


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
    pairs = [pair({"q": "rain", "request_id": UUID}, {"q": "rain", "request_id": OTHER_UUID}, no) for no in (3, 7)]
    [proposal] = propose(pairs).proposals
    assert (proposal.rule.type, proposal.rule.name, proposal.rule.pointer, proposal.rule.within) == (
        "tool",
        "search",
        "/request_id",
        None,
    )
    assert (proposal.kind, proposal.pairs, proposal.unifies, proposal.recommended) == ("uuid", 2, 2, True)
    assert [(step.base, step.candidate) for step in proposal.steps] == [(3, 3), (7, 7)]
    assert proposal.examples[0].base == UUID


def test_list_items_share_one_field() -> None:
    rows: list[JSONValue] = [{"at": f"2026-11-20T10:00:0{n}Z", "x": n} for n in range(3)]
    later: list[JSONValue] = [{"at": f"2026-12-24T18:30:0{n}Z", "x": n} for n in range(3)]
    [proposal] = propose([pair({"rows": rows}, {"rows": later})]).proposals
    assert (proposal.rule.pointer, proposal.unifies) == ("/rows/*/at", 1)


def test_meaningful_differences_are_not_proposed() -> None:
    pairs = [pair({"q": "rain"}, {"q": "snow"}), pair({"n": 100}, {"n": 900}), pair({"l": [1]}, {"l": [1, 2]})]
    outcome = propose(pairs)
    assert (outcome.proposals, outcome.equal_pairs) == ([], [])
    assert [difference.pointer for difference in outcome.left] == ["/q", "/n", "/l"]


@pytest.mark.parametrize(
    ("base", "candidate", "pointers"),
    [
        ({"nonce": {"value": 5}}, {"nonce": {"value": 7}}, ["/nonce/value"]),
        ({"meta": {"requestCounter": 0.513}}, {"meta": {"requestCounter": 0.2}}, ["/meta/requestCounter"]),
        ({"nonce": ["51", "6"]}, {"nonce": ["71", "8"]}, ["/nonce/*"]),
        ({"sequence_length": 512}, {"sequence_length": 1024}, []),
        ({"attempt": {"amount": 3}}, {"attempt": {"amount": 4}}, []),
        ({"nonce": "five"}, {"nonce": "seven"}, []),
    ],
)
def test_numbers_are_proposed_where_their_name_says_why(
    base: JSONValue, candidate: JSONValue, pointers: list[str]
) -> None:
    assert [proposal.rule.pointer for proposal in propose([pair(base, candidate)]).proposals] == pointers


def test_other_differences_prevent_unification() -> None:
    [proposal] = propose([pair({"q": "rain", "id": UUID}, {"q": "snow", "id": OTHER_UUID})]).proposals
    assert (proposal.pairs, proposal.unifies, proposal.recommended) == (1, 0, False)


@pytest.mark.parametrize(
    ("base", "candidate", "is_recommended"),
    [
        ({"on": "2026-11-20"}, {"on": "2026-11-21"}, False),  # for which day
        ({"payment": "card_44214867"}, {"payment": "certificate_7504069"}, False),  # which one
        ({"trace_id": "req_44214867a"}, {"trace_id": "req_7504069bc"}, True),
        ({"seq": 4}, {"seq": 9}, True),
        ({"note": "seen 2026-11-20T10:00Z ok"}, {"note": "seen 2026-11-21T11:00Z ok"}, True),
    ],
)
def test_recommendation_depends_on_meaning(base: JSONValue, candidate: JSONValue, is_recommended: bool) -> None:
    [proposal] = propose([pair(base, candidate)]).proposals
    assert (proposal.unifies, proposal.recommended) == (1, is_recommended)


def test_merged_different_calls_are_collisions() -> None:
    pairs = [pair({"session": UUID}, {"session": OTHER_UUID})]
    calls = [call({"session": UUID}, no=1, answer="a"), call({"session": OTHER_UUID}, no=2, answer="b")]
    [proposal] = propose(pairs, lambda types: calls).proposals
    assert ([collision.steps for collision in proposal.collisions], proposal.recommended) == ([[1, 2]], False)
    harmless = [call({"session": UUID}, no=1), call({"session": OTHER_UUID}, no=2)]
    assert propose(pairs, lambda types: harmless).proposals[0].recommended


def test_joint_collisions_prevent_recommendation() -> None:
    """The same question twice, with different ids, times and answers."""
    early, late = "2026-11-20T10:00Z", "2026-11-21T11:00Z"
    pairs = [pair({"session": UUID, "at": early}, {"session": OTHER_UUID, "at": late})]
    calls = [
        call({"session": UUID, "at": early}, answer="a"),
        call({"session": OTHER_UUID, "at": late}, no=2, answer="b"),
    ]
    proposals = propose(pairs, lambda types: calls).proposals
    assert [(len(proposal.collisions), proposal.recommended) for proposal in proposals] == [(1, False)] * 2


def test_unification_assumes_recommended_rules_only() -> None:
    """An id makes no calls equal if they also differ in a date, which is meaningful."""
    dated_pair = pair({"session": UUID, "on": "2026-11-20"}, {"session": OTHER_UUID, "on": "2026-11-21"})
    assert [(proposal.unifies, proposal.recommended) for proposal in propose([dated_pair]).proposals] == [
        (0, False),
        (0, False),
    ]
    undated_pair = pair({"session": UUID, "on": "2026-11-20"}, {"session": OTHER_UUID, "on": "2026-11-20"}, 2)
    unifies = {
        proposal.kind: (proposal.unifies, proposal.recommended)
        for proposal in propose([dated_pair, undated_pair]).proposals
    }
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
    parts = list(differences(before, after))
    assert (not parts) is (digest(before) == digest(after))
    assert all(digest(old) != digest(new) for _, old, new in parts)


@given(values, paths)
def test_remove_field_is_idempotent_and_pure(value: JSONValue, path: tuple[str, ...]) -> None:
    before = digest(value)
    reduction = remove_field(value, path, None)
    assert digest(remove_field(reduction, path, None)) == digest(reduction)
    assert digest(value) == before


@given(st.lists(values, max_size=4), st.lists(paths, min_size=1, max_size=3))
def test_cached_reductions_equal_fresh_ones(items: list[JSONValue], ways: list[tuple[str, ...]]) -> None:
    cache = ReductionCache()
    calls: list[JSONValue] = [[*items], {"a": [*items]}, [*items]]  # they share their entries
    for value in calls:
        for path in ways:
            assert digest(remove_field(value, path, None, cache)) == digest(remove_field(value, path, None))


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["q", "request_id", "at"]), st.sampled_from(["x", "y", UUID, OTHER_UUID])),
        max_size=6,
    )
)
def test_proposals_unify_the_listed_pairs(inputs: list[dict[str, JSONValue]]) -> None:
    pairs = [
        pair(base_input, candidate_input, no)
        for no, (base_input, candidate_input) in enumerate(zip(inputs, reversed(inputs), strict=True), 1)
    ]
    outcome = propose(pairs)
    ignoring = IgnoreRules(rules=tuple(item.rule for item in outcome.proposals), version=1)
    cache = SignatureCache()
    equal = [
        base.no
        for base, candidate in pairs
        if base.signature_under(ignoring, cache) == candidate.signature_under(ignoring, cache)
    ]
    assert [item.base for item in outcome.equal_pairs] == equal


@given(st.lists(st.tuples(st.sampled_from([UUID, OTHER_UUID, "x"]), st.sampled_from("ab")), max_size=6))
def test_collisions_find_all_merged_calls(answers: list[tuple[str, str]]) -> None:
    calls = [call({"id": value}, no=no, answer=answer) for no, (value, answer) in enumerate(answers)]
    ignoring, cache = IgnoreRules(rules=(IgnoreRule(type="tool", pointer="/id"),)), SignatureCache()
    has_collision = (
        len({item.signature_under(NO_RULES, cache) for item in calls}) > 1 and len({item.answer for item in calls}) > 1
    )
    assert bool(collisions(ignoring, calls, cache)) is has_collision


_DAYS = ("2026-11-20", "2026-11-21")
_MOMENTS = ("2026-11-20T10:00Z", "2026-11-21T11:00Z")
_CALLS = st.fixed_dictionaries(
    {
        "q": st.sampled_from("ab"),
        "request_id": st.sampled_from([UUID, OTHER_UUID]),
        "at": st.sampled_from(_MOMENTS),
        "on": st.sampled_from(_DAYS),
    }
)


@given(st.lists(st.tuples(_CALLS, _CALLS, st.sampled_from("xy"), st.sampled_from("xy")), min_size=1, max_size=6))
def test_proposals_have_the_stated_effect(recordings: list[tuple[JSONObject, JSONObject, str, str]]) -> None:
    """Recordings with known differences: a question, an id, a time and a day."""
    pairs = [
        (call(base, no=no, answer=first), call(candidate, side="candidate", no=no, answer=second))
        for no, (base, candidate, first, second) in enumerate(recordings, 1)
    ]
    proposals = propose(pairs, lambda types: [item for pair in pairs for item in pair]).proposals
    recommended_fields = {item.rule.pointer[1:] for item in proposals if item.recommended}
    assert "on" not in recommended_fields
    for item in proposals:
        field, ignored_fields = item.rule.pointer[1:], recommended_fields | {item.rule.pointer[1:]}
        differ = [no for no, (base, candidate, *_) in enumerate(recordings, 1) if base[field] != candidate[field]]
        equal = [
            no
            for no in differ
            if _digest_without(recordings[no - 1][0], ignored_fields)
            == _digest_without(recordings[no - 1][1], ignored_fields)
        ]
        assert (item.pairs, [step.base for step in item.steps]) == (len(differ), equal)
    for side in (0, 1):
        answers: dict[str, set[tuple[str, str]]] = {}
        for recording in recordings:
            base, answer = (recording[:2][side], recording[2:][side])
            answers.setdefault(_digest_without(base, recommended_fields), set()).add((digest(base), answer))
        for alike in answers.values():  # nothing that is recommended confuses different calls
            assert (
                not recommended_fields
                or len({base for base, _ in alike}) == 1
                or len({answer for _, answer in alike}) == 1
            )


def _digest_without(input: JSONObject, ignored_fields: set[str]) -> str:
    return digest({name: value for name, value in input.items() if name not in ignored_fields})


def test_label_key_lists_ignored_fields() -> None:
    ignoring = IgnoreRules(
        rules=(IgnoreRule(type="tool", name="search", pointer="/at", within="timestamp"),), version=3
    )
    assert ignoring.key["ignore_list"] == 3
    assert "tool search: /at (timestamp)" in str(ignoring.key["ignored"])
    assert NO_RULES.key == {}
    signature = ignoring.signature(
        type=StepType.TOOL, name="search", input={"at": "2026-11-20T10:00Z"}, tool_name="search"
    )
    assert signature.startswith(f"sig:v1~{ignoring.digest[:12]}:")
    assert len(signature) <= 96
    assert ignoring.signature(type=StepType.MODEL, name="m", input={}) == ""
