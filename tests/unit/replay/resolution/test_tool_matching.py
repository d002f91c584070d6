"""Recorded tool calls that answer new ones."""

from dataclasses import replace
from typing import Final
from uuid import uuid4

import pytest

from replay.core.calls import Call
from replay.core.graph import Node
from replay.overrides.policy import Policy
from replay.resolution.chain import ResolverChain
from replay.resolution.tool_matching import RecordedCalls, most_alike, similarity
from tests.support.memory_replays import MemoryEnvironment
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Reason, StepStatus, StepType


@pytest.mark.parametrize(
    ("base", "current", "expected"),
    [
        (
            {"location": "San Francisco, CA", "units": "metric"},
            {"location": "San Francisco", "units": "metric"},
            0.8667,
        ),
        ({"q": "weather"}, {"q": "weather"}, 1.0),
        ({"q": "Weather Paris"}, {"q": "weather  paris"}, 1.0),
        ({"q": "Paris"}, {"q": " paris "}, 1.0),
        ({"unit": "CELSIUS"}, {"unit": "celsius"}, 1.0),
        ({"name": "Zo\u00eb"}, {"name": "zoe\u0308"}, 1.0),
        ({"n": 5}, {"n": "5"}, 1.0),
        ({"n": 5}, {"n": 5.0}, 1.0),
        ({}, {}, 1.0),
    ],
)
def test_similar_calls(base: JSONValue, current: JSONValue, expected: float) -> None:
    assert similarity(base, current) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("base", "current"),
    [
        ({"amount": 100}, {"amount": 900}),
        ({"amount": 100}, {"amount": 1000}),
        ({"flag": True}, {"flag": False}),
        ({"flag": True}, {"flag": 1}),
        ({"zip": "01234"}, {"zip": "1234"}),
        ({"id": "order-12345"}, {"id": "order-12346"}),
        ({"to": "anna@example.com"}, {"to": "anne@example.com"}),
        ({"path": "/srv/data/report.txt"}, {"path": "/srv/data/reports.txt"}),
        ({"url": "https://example.com/a"}, {"url": "https://example.com/b"}),
        ({"unit": "celsius"}, {"unit": "celsiu"}),
        ({"id": "Abc_1"}, {"id": "abc_1"}),
        ({"path": "Docs/readme"}, {"path": "docs/readme"}),
        ({"on": "2026-11-21"}, {"on": "2026-11-22"}),
        ({"q": "select from users where id = 12345"}, {"q": "select from users where id = 12346"}),
        ({"q": "the patient is allergic to penicillin"}, {"q": "the patient is not allergic to penicillin"}),
        ({"q": "I can return the parcel next week"}, {"q": "I can't return the parcel next week"}),
        ({"q": "call the customer back on monday please"}, {"q": "call the customer back on sunday please"}),
        ({"q": "ship two boxes to the customer"}, {"q": "ship six boxes to the customer"}),
        ({"q": "refund twenty dollars to the card"}, {"q": "refund thirty dollars to the card"}),
        (
            {"q": "send me monday\u2019s opening hours of the shop"},
            {"q": "send me sunday\u2019s opening hours of the shop"},
        ),
        ({"q": "which shops are open on mondays"}, {"q": "which shops are open on sundays"}),
        ({"q": "refund the customer now\u2014not the shop"}, {"q": "refund the customer now\u2014and the shop"}),
        ({"q": "ship twenty-one boxes to the customer"}, {"q": "ship twenty-two boxes to the customer"}),
        ({"q": "cancel the third order of the customer"}, {"q": "cancel the first order of the customer"}),
        ({"q": "transfer \u00bd of the amount to the card"}, {"q": "transfer \u00bc of the amount to the card"}),
        ({"q": "deliver the parcel on Jan 5 please"}, {"q": "deliver the parcel on Jun 5 please"}),
        ({"q": "book a table at 5 p.m. for the team"}, {"q": "book a table at 5 a.m. for the team"}),
        ({"q": "please dont cancel the order of the customer"}, {"q": "please cancel the order of the customer"}),
        ({"q": "bitte die Bestellung nicht stornieren"}, {"q": "bitte die Bestellung stornieren"}),
        ({"q": "move 5 boxes from shelf 3"}, {"q": "move 3 boxes from shelf 5"}),
        ({"id": "1234567890123456789012345678901"}, {"id": "1234567890123456789012345678902"}),
        ({"q": "the same words"}, {"query": "the same words"}),
        ({"q": "the same words"}, {"q": "the same words", "limit": 1}),
        ({"q": ["one thing here", "x"]}, {"q": ["one thing here"]}),
    ],
)
def test_rigid_values_must_be_equal(base: JSONValue, current: JSONValue) -> None:
    assert similarity(base, current) == 0.0


def test_least_similar_argument_decides() -> None:
    before: JSONObject = {"a": "exactly the same text", "b": "San Francisco, CA"}
    after: JSONObject = {"a": "exactly the same text", "b": "San Francisco"}
    assert similarity(before, after) == pytest.approx(0.8667, abs=1e-4)


def test_repeated_calls_keep_answer_order() -> None:
    calls: RecordedCalls[int] = RecordedCalls()
    for number in range(3):
        calls.add(number, "get", {"id": 1})
    answers = []
    while (match := calls.exact("get", {"id": 1})) is not None:
        calls.use(match.call)
        answers.append(match.call)
    last = calls.used_up("get", {"id": 1})
    assert (answers, last is not None and last.call, calls.unused_calls()) == ([0, 1, 2], 2, [])


def test_semantic_match_uses_recorded_call() -> None:
    calls: RecordedCalls[str] = RecordedCalls()
    calls.add("a", "ask", {"q": "what is the capital of the united kingdom"})
    question: JSONObject = {"q": "what is the capital of the united kingdon"}
    match = calls.similar("ask", question, 0.85)
    assert match is not None
    assert match.similarity > 0.95
    calls.use(match.call)
    assert calls.similar("ask", question, 0.85) is None


SHORTER: Final[JSONObject] = {"at": "San Francisco"}
LONGER: Final[JSONObject] = {"at": "San Francisco, CA"}
ALIKE: Final = 26 / 30


@pytest.mark.parametrize(("threshold", "hit"), [(ALIKE, True), (ALIKE + 0.001, False), (0.0, True)])
def test_threshold_is_inclusive(threshold: float, hit: bool) -> None:
    calls: RecordedCalls[str] = RecordedCalls()
    calls.add("a", "weather", LONGER)
    assert (calls.similar("weather", SHORTER, threshold) is not None) == hit
    for more in ("", "\nthe same words"):
        match = most_alike(f"san francisco{more}", [f"san francisco, ca{more}"], threshold)
        assert (match is not None) == hit
    node = Node(no=1, id=uuid4(), type=StepType.TOOL, name="weather", input_ref="in", output_ref="out")
    call = Call(no=1, parent=None, type=StepType.TOOL, name="weather", input=SHORTER, node=node, changed=True)
    chain = ResolverChain(Policy(semantic_threshold=threshold), MemoryEnvironment({"in": LONGER, "out": "foggy"}))
    assert (chain.resolve(call).reason is Reason.CACHE_SEMANTIC) == hit


def test_failed_call_answers_no_other_words() -> None:
    node = Node(no=1, id=uuid4(), type=StepType.TOOL, name="weather", input_ref="in", output_ref="out")
    chain = ResolverChain(Policy(), MemoryEnvironment({"in": LONGER, "out": "foggy"}))
    for status in (StepStatus.OK, StepStatus.ERROR):
        source = replace(node, status=status)
        call = Call(no=1, parent=None, type=StepType.TOOL, name="weather", input=SHORTER, node=source, changed=True)
        assert (chain.resolve(call).reason is Reason.CACHE_SEMANTIC) == (status is StepStatus.OK)


def test_other_tool_never_matches() -> None:
    calls: RecordedCalls[str] = RecordedCalls()
    calls.add("a", "search", {"q": "some free text"})
    assert calls.exact("lookup", {"q": "some free text"}) is None
    assert calls.similar("lookup", {"q": "some free text"}, 0.1) is None


def test_best_and_earliest_match_wins() -> None:
    calls: RecordedCalls[int] = RecordedCalls()
    for number, text in enumerate(
        ["lost parcels refund ruling", "lost parcel refund rules", "lost parcel refund rules"]
    ):
        calls.add(number, "search", {"q": text})
    match = calls.similar("search", {"q": "lost parcel refund rule"}, 0.85)
    assert match is not None
    assert match.call == 1
