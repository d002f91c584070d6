"""Transcripts of Voiceflow, as both versions of its API return them."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType

LAUNCH = {"type": "launch"}
GREETING = {"type": "text", "payload": {"message": "Hello!", "delay": 1000}}
REQUEST = {"type": "intent", "payload": {"query": "Is Dune in?", "intent": {"name": "stock"}}}
DEBUG = {"type": "debug", "payload": {"message": "API call triggered"}}
ANSWER = {"type": "speak", "payload": {"type": "message", "message": "Yes."}}
CHOICE = {"type": "choice", "payload": {"buttons": [{"name": "Thanks"}]}}
REPLY = {"type": "text", "payload": "Thanks."}
ENTRIES: list[tuple[str, dict[str, Any]]] = [
    ("launch", LAUNCH),
    ("trace", GREETING),
    ("request", REQUEST),
    ("trace", DEBUG),
    ("trace", ANSWER),
]
ENTRIES += [("trace", CHOICE), ("request", REPLY)]


def time(second: int) -> str:
    return f"2026-05-01T10:00:{second:02}Z"


TURNS = [
    {"turnID": "t", "format": kind, "type": entry["type"], "payload": entry, "startTime": time(second)}
    for second, (kind, entry) in enumerate(ENTRIES)
]
TRANSCRIPT = {
    "id": "tr-1",
    "sessionID": "s1",
    "properties": [{"name": "browser"}],
    "evaluations": [{"name": "quality", "type": "number", "value": 4.5, "reason": "quick"}],
    "logs": [
        {"type": "trace" if kind == "trace" else "action", "data": entry, "createdAt": time(second)}
        for second, (kind, entry) in enumerate(ENTRIES)
    ],
}


@pytest.mark.parametrize("document", [TURNS, {"transcript": TRANSCRIPT}], ids=["turns", "transcript"])
def test_dialog_is_a_conversation(document: Any) -> None:
    (run,), problems = fixtures.detect_and_read("chat-export", orjson.dumps(document))
    assert problems == []
    greeting, answer = fixtures.steps(run, StepType.MODEL)
    assert (run.app, run.name, greeting.attributes) == ("voiceflow", "Is Dune in?", {"delay": 1000})
    assert fixtures.answer_contents(run)[-1] == [
        {"type": "text", "text": "Yes."},
        {"type": "data", "choice": CHOICE["payload"]},
    ]
    first_turn, second_turn = fixtures.steps(run, StepType.TURN)
    assert (first_turn.attributes, second_turn.name) == ({"intent": {"intent": {"name": "stock"}}}, "Thanks.")
    assert (answer.parent, str(answer.ended_at)[17:19]) == (first_turn.key, "05")
    assert run.metadata["events"] == [{**LAUNCH, "time": time(0)}, {**DEBUG, "time": time(3)}]


def test_transcript_has_an_id_and_evaluations() -> None:
    (run,), _ = fixtures.detect_and_read("chat-export", orjson.dumps({"transcript": TRANSCRIPT}))
    (evaluation,) = run.judgements
    assert (run.external_id, run.metadata["sessionID"]) == ("tr-1", "s1")
    assert (evaluation.name, evaluation.value, evaluation.text) == ("quality", 4.5, "quick")
