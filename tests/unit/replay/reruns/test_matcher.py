"""Which call of a recording a request of a running agent is."""

import json
import random
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.reruns.core.matcher import Divergence, Match, Matcher
from replay.reruns.core.playback import rename_body
from replay.reruns.core.recorded_calls import RecordedCalls, RecordedRequest
from replay.reruns.core.renaming import Renaming
from traces.core.json_types import JSONObject

STRICT: JSONObject = {"provider": "openai", "model": "gpt-5"}


def say(text: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def recording(*requests: Any) -> Matcher:
    return Matcher(
        calls=RecordedCalls(
            [
                RecordedRequest(no=number, request={"messages": messages}, strict=STRICT)
                for number, messages in enumerate(requests, 1)
            ]
        )
    )


def ask(matcher: Matcher, messages: Any, **strict: str) -> Match | Divergence:
    return matcher.match({"messages": messages}, {**STRICT, **strict})


def number(answer: Match | Divergence) -> tuple[int, bool]:
    assert isinstance(answer, Match), answer
    return answer.call.no, answer.is_exact


def difference(answer: Match | Divergence) -> tuple[str, Any, Any]:
    assert isinstance(answer, Divergence)
    assert answer.difference is not None
    return answer.difference.path, answer.difference.old, answer.difference.new


def conversations(names: list[str], turns: int) -> list[list[Any]]:
    return [[say(f"{name}: part {turn}") for turn in range(last + 1)] for name in names for last in range(turns)]


@given(st.randoms(use_true_random=False), st.integers(1, 4), st.integers(1, 4))
def test_parallel_conversations_interleave_in_any_way(shuffler: random.Random, workers: int, turns: int) -> None:
    requests = conversations([f"worker {index}" for index in range(workers)], turns)
    matcher = recording(*requests)
    order = [*range(len(requests))]
    shuffler.shuffle(order)
    assert [number(ask(matcher, requests[index])) for index in order] == [(index + 1, True) for index in order]
    assert matcher.unused_calls() == []


@given(st.randoms(use_true_random=False), st.lists(st.uuids(), min_size=1, max_size=4, unique=True), st.data())
def test_parallel_workers_keep_their_ids(shuffler: random.Random, old: list[UUID], data: st.DataObject) -> None:
    new = data.draw(
        st.lists(st.uuids().filter(lambda id: id not in old), min_size=len(old), max_size=len(old), unique=True)
    )
    turns = 3
    matcher = recording(*conversations([str(id) for id in old], turns))
    pending = [[*conversations([str(id)], turns)] for id in new]
    seen: dict[int, set[int]] = {}
    while any(pending):
        worker = shuffler.choice([index for index, rest in enumerate(pending) if rest])
        no, is_exact = number(ask(matcher, pending[worker].pop(0)))
        assert not is_exact
        seen.setdefault(worker, set()).add((no - 1) // turns)
    # Each worker is one recorded worker in all of its calls.
    assert all(len(workers) == 1 for workers in seen.values())
    assert len({*map(tuple, seen.values())}) == len(old)


def test_argument_with_the_name_of_a_cache_mark_counts() -> None:
    matcher = recording([{**say("hi"), "cache_control": {"type": "ephemeral"}}], [say('{"cache_control": "no-store"}')])
    assert number(ask(matcher, [say("hi")])) == (1, False)
    assert isinstance(ask(matcher, [say('{"cache_control": "max-age=60"}')]), Divergence)


def test_id_that_the_recording_contains_is_another_thing() -> None:
    orders = [str(UUID(int=2**100 + number)) for number in range(3)]
    listing = say(f"orders {orders[0]} and {orders[1]}")
    matcher = recording([listing], [listing, say(f"refund {orders[0]}")])
    assert isinstance(ask(matcher, [listing, say(f"refund {orders[1]}")]), Divergence)
    assert number(ask(matcher, [listing, say(f"refund {orders[2]}")])) == (2, False)


def test_equal_requests_are_given_in_recorded_order() -> None:
    matcher = recording([say("hi")], [say("hi")])
    assert [number(ask(matcher, [say("hi")])) for _ in range(2)] == [(1, True), (2, True)]
    assert isinstance(ask(matcher, [say("hi")]), Divergence)


def test_equal_requests_go_to_the_lane_with_the_same_number() -> None:
    lanes = ["a1-task7", "a1-task8", "", "a1-2/8", "a1-3"]
    calls = [
        RecordedRequest(no=number, request={"messages": [say("hi")]}, strict=STRICT, lane=lane)
        for number, lane in enumerate(lanes, 1)
    ]

    def taken(*lanes: str) -> list[int]:
        matcher = Matcher(calls=RecordedCalls(calls))
        return [number(ask(replace(matcher, lane=lane), [say("hi")]))[0] for lane in lanes]

    assert taken("b2-task8", "b2-3", "b2-task7", "b2-9/8") == [2, 5, 1, 4]
    # One of an unknown lane may be any.
    assert taken("b2-task9", "b2-task9") == [3, 1]
    assert taken("", "") == [1, 2]


def test_equal_calls_of_tools_are_told_apart_by_the_ids_of_the_model() -> None:
    """Several agents at once may ask a tool the same, and get other answers."""
    ids = {1: "call_a", 2: "call_b", 3: "same", 4: "same", 5: ""}
    calls = [
        RecordedRequest(
            no=no, request={"arguments": {}}, strict=STRICT, lane=f"a{no}-1", answer=f"answer {no}", call_id=id
        )
        for no, id in ids.items()
    ]

    def match(call_id: str) -> tuple[int, bool]:
        match = Matcher(calls=RecordedCalls(calls), lane="b-1", call_id=call_id).match({"arguments": {}}, STRICT)
        assert isinstance(match, Match)
        return match.call.no, match.is_exact

    assert [match(id) for id in ("call_b", "call_a", "same", "of a new answer", "")] == [
        (2, True),
        (1, True),
        *[(1, False)] * 3,
    ]


def test_of_requests_with_new_ids_one_of_the_same_lane_is_taken() -> None:
    calls = [
        RecordedRequest(
            no=no, request={"messages": [say(f"call call_{no}1b2c3d4e5f6")]}, strict=STRICT, lane=f"a1-task{no}"
        )
        for no in (1, 2)
    ]
    matcher = Matcher(calls=RecordedCalls(calls), lane="b2-task2")
    assert number(ask(matcher, [say("call call_f6e5d4c3b2a1")])) == (2, False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Today is 2026-11-22.", "Today is 2026-11-23."),
        ("at 2026-11-22T10:00:00Z", "at 2026-11-23T11:30:00Z"),
        ("call call_a1b2c3d4e5f6", "call call_f6e5d4c3b2a1"),
        ("in /tmp/tmpab12cd/out.txt", "in /tmp/tmpzz98yx/out.txt"),
        ("http://127.0.0.1:40001/x", "http://127.0.0.1:50002/x"),
        ("took 1.25 s", "took 0.98 s"),
        ("Chunk 12ab34", "Chunk 123456"),
        (f'{{"b": 1, "session_id": "{UUID(int=1)}"}}', f'{{"session_id": "{UUID(int=2)}", "b": 1}}'),
    ],
)
def test_volatile_values_match_and_are_never_exact(old: str, new: str) -> None:
    matcher = recording([say(old)])
    assert number(ask(matcher, [say(new)])) == (1, False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pay 4200", "pay 42"),
        ("wait 10 times", "wait 20 times"),
        ("order ORD-2025000100", "order ORD-2025000200"),
        ("use gpt-4o-mini", "use gpt-4.1-mini"),
        ("say facade", "say decade"),
        ("read /tmp/report.txt", "read /tmp/invoice.txt"),
        ("1700000000", "1800000000"),
    ],
)
def test_numbers_and_words_are_never_volatile(old: str, new: str) -> None:
    assert difference(ask(recording([say(old)]), [say(new)])) == ("/messages/0/content", old, new)


@pytest.mark.parametrize(
    ("name", "old", "new", "is_volatile"),
    [
        ("turn_started_at_unix_ms", 1_795_514_016_092, 1_795_514_018_434, True),
        ("create_time", 1_795_514_016.25, 1_795_514_018.5, True),
        ("createdAt", 1_795_514_016, 1_795_514_018, True),
        ("created", 1_795_514_016, 1_795_514_018_434, False),
        ("amount", 1_795_514_016, 1_795_514_018, False),
        ("expires_at", 3_600, 7_200, False),
        ("wait_time", 1_795_514_016, None, False),
        ("time", True, False, False),
    ],
)
def test_number_is_a_time_if_its_field_says_so(name: str, old: Any, new: Any, is_volatile: bool) -> None:
    answer = ask(recording([say(json.dumps({name: old}))]), [say(json.dumps({name: new}))])
    assert isinstance(answer, Match) == is_volatile


def test_a_value_has_one_name_for_the_whole_run() -> None:
    first, second, third = (f"/tmp/tmp{index}abc123" for index in range(3))
    matcher = recording([say(f"in {first}/a")], [say(f"and {first}/b")])
    assert number(ask(matcher, [say(f"in {second}/a")])) == (1, False)
    assert difference(ask(matcher, [say(f"and {third}/b")]))[0] == "/messages/0/content"
    assert number(ask(matcher, [say(f"and {second}/b")])) == (2, False)


def test_two_values_do_not_become_one() -> None:
    one, two = "call_aaaa1bbbb2", "call_cccc3dddd4"
    assert isinstance(ask(recording([say(f"{one} {two}")]), [say("call_eeee5ffff6 call_eeee5ffff6")]), Divergence)


def test_first_difference_left_is_reported_not_an_id() -> None:
    matcher = recording([say(f"id {UUID(int=1)}"), say("refund 42")])
    answer = ask(matcher, [say(f"id {UUID(int=2)}"), say("refund 4200")])
    assert difference(answer) == ("/messages/1/content", "refund 42", "refund 4200")


def test_difference_inside_of_json_in_a_text_has_its_path() -> None:
    old, new = (json.dumps({"args": [{"amount": amount}]}) for amount in (1, 2))
    assert difference(ask(recording([say(old)]), [say(new)])) == ("/messages/0/content/args/0/amount", 1, 2)


def test_divergence_names_the_call_that_shares_most() -> None:
    matcher = recording([say("a")], [say("b"), say("c")], [say("x")])
    answer = ask(matcher, [say("b"), say("d")])
    assert isinstance(answer, Divergence)
    assert answer.nearest is not None
    assert (answer.nearest.no, difference(answer)[0]) == (2, "/messages/1/content")


def test_model_and_headers_count() -> None:
    matcher = recording([say("hi")])
    assert difference(ask(matcher, [say("hi")], model="gpt-6")) == ("/model", "gpt-5", "gpt-6")
    assert difference(ask(matcher, [say("hi")], **{"anthropic-beta": "b"})) == ("/anthropic-beta", "(absent)", "b")
    assert difference(ask(matcher, [])) == ("/messages/0", say("hi"), "(absent)")


def test_marks_for_the_cache_do_not_count() -> None:
    block = {"type": "text", "text": "hi"}
    matcher = recording([say([block | {"cache_control": {"type": "ephemeral"}}])])
    assert number(ask(matcher, [say([block])])) == (1, False)


@given(st.permutations([0, 1, 2]), st.booleans())
def test_tool_results_of_a_turn_are_a_set(order: list[int], has_new_ids: bool) -> None:
    def turn(ids: list[str], order: list[int]) -> list[Any]:
        calls = {"role": "assistant", "tool_calls": [{"id": id, "name": "look", "arguments": {}} for id in ids]}
        return [calls, *({**say(f"result {index}", "tool"), "tool_call_id": ids[index]} for index in order)]

    old = [f"call_aaaa{index}bbbb{index}" for index in range(3)]
    new = [f"call_cccc{index}dddd{index}" for index in range(3)] if has_new_ids else old
    matcher = recording(turn(old, [0, 1, 2]))
    assert number(ask(matcher, turn(new, order))) == (1, not has_new_ids and order == [0, 1, 2])


@given(st.data())
def test_renamed_values_are_served_across_the_pieces_of_a_stream(data: st.DataObject) -> None:
    old, new = "/tmp/tmpab12cd", "/tmp/tmpzz98yx7"
    text = f"Wrote {old}/a.txt — and {old}/b.txt."
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1))))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    events = [{"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    body = "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in events) + "data: [DONE]\n\n"
    renamed = rename_body(body.encode(), Renaming.from_pairs([("path", old, new)])).decode()
    deltas = [json.loads(line[5:]) for line in renamed.splitlines() if line.startswith("data: {")]
    assert "".join(delta["choices"][0]["delta"]["content"] for delta in deltas) == text.replace(old, new)
    assert renamed.endswith("data: [DONE]\n\n")


def test_response_without_renamed_values_stays_byte_for_byte() -> None:
    renaming = Renaming.from_pairs([("path", "/tmp/tmpab12cd", "/tmp/tmpzz98yx")])
    for body in (b'{ "a":  "\\u00e9 /tmp/other1" }', b'data: { "a":  1}\n\ndata: [DONE]\n\n', b"\xff no JSON"):
        assert rename_body(body, renaming) == body
    assert rename_body(b'{"a": "/tmp/tmpab12cd/x"}', renaming) == b'{"a":"/tmp/tmpzz98yx/x"}'


def test_ignored_fields_match_but_never_exactly() -> None:
    def reduce(request: JSONObject) -> JSONObject:
        return {name: value for name, value in request.items() if name != "nonce"}

    requests = [
        RecordedRequest(no=no, request={"messages": [say(f"{no}")], "nonce": no}, strict=STRICT) for no in (1, 2)
    ]
    calls = RecordedCalls(requests)
    matcher = Matcher(calls=calls, reduce=reduce)
    assert number(matcher.match({"messages": [say("2")], "nonce": 2}, STRICT)) == (2, True)
    assert number(matcher.match({"messages": [say("1")], "nonce": 9}, STRICT)) == (1, False)
    other = Matcher(calls=calls, reduce=reduce).match({"messages": [say("up")], "nonce": 9}, STRICT)
    assert difference(other) == ("/messages/0/content", "1", "up")


def test_equal_request_with_other_content_is_not_exact() -> None:
    """A step lacks some of what was sent; digests show that it differs. A call with the same content comes first."""
    request: JSONObject = {"messages": [say("Hi")]}
    calls = [RecordedRequest(no=no, request=request, strict=STRICT, content_digest=f"d{no}") for no in (1, 2)]
    matcher = Matcher(calls=RecordedCalls(calls))
    matches = [matcher.match_equal(request, STRICT, content) for content in ("d2", "d3")]
    assert [match and (match.call.no, match.is_exact) for match in matches] == [(2, True), (1, False)]
