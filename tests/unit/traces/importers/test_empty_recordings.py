"""Recordings without steps, which every importer refuses."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

_SUBMISSION = {"exit_status": "submitted", "submission": "diff --git a/shelf.py"}
_STATS = {"tokens_sent": 48_000, "tokens_received": 1_200, "api_calls": 3}
EMPTY: dict[str, tuple[str, Any]] = {
    "no message": ("chat", {"id": "c-1", "messages": []}),
    "only instructions": ("chat", {"id": "c-1", "messages": [{"role": "system", "content": "You keep a bookshop."}]}),
    "only a greeting": ("chat", {"id": "c-1", "messages": [{"role": "assistant", "content": "Good morning!"}]}),
    "no message, and an outcome": (
        "mini-swe-agent",
        {"trajectory_format": "mini-swe-agent-1", "messages": [], "info": _SUBMISSION},
    ),
    "no history": (
        "swe-agent",
        {"environment": "shop", "trajectory": [], "history": [], "info": {**_SUBMISSION, "model_stats": _STATS}},
    ),
    "a question without a conversation": (
        "who-and-when",
        {"question": "How many shelves?", "question_ID": "q-1", "history": [], "mistake_agent": "Ann"},
    ),
    "no trajectory step": (
        "atif",
        {"schema_version": "ATIF-v1.4", "session_id": "c-1", "steps": [], "agent": {"name": "shopkeeper"}},
    ),
}


@pytest.mark.parametrize(("format", "content"), EMPTY.values(), ids=EMPTY)
def test_recording_without_steps_is_refused(format: str, content: Any) -> None:
    source = Source(name="empty.json", data=orjson.dumps(content))
    importer = registry.detect(fixtures.sample(source.name, source.data))
    assert importer.name == format
    assert list(importer.runs([source])) == []
    (problem,) = map(str, source.problems)
    assert problem.startswith(f"this recording has no steps ({importer.title}) (run ")


def test_other_recordings_are_still_imported() -> None:
    talk = {"id": "c-2", "messages": [{"role": "user", "content": "Is Dune in stock?"}]}
    source = Source(name="two.json", data=orjson.dumps([EMPTY["no message"][1], talk]))
    assert [run.external_id for run in registry.get_importer("chat").runs([source])] == ["c-2"]
    assert len(source.problems) == 1


@pytest.mark.parametrize("name", ["messages", "trajectory"])
def test_list_without_roles_is_no_chat(name: str) -> None:
    actions = [{"state": "shelf_7 is open", "reward": 0.5, "content": "3 copies"}]
    with pytest.raises(BadFile, match="no known format has an object with the keys"):
        registry.detect(fixtures.sample("other.json", orjson.dumps({name: actions})))


REQUESTS: dict[str, tuple[str, Any]] = {
    "chat": ("chat", {"id": "c-3", "messages": [{"role": "user", "content": text} for text in ("Hello?", "Hello?")]}),
    "prompt log": (
        "gemini-cli",
        [
            {
                "sessionId": "s",
                "messageId": 0,
                "type": "user",
                "message": "Hello?",
                "timestamp": "2026-03-01T12:00:00Z",
            },
            {
                "sessionId": "s",
                "messageId": 1,
                "type": "user",
                "message": "Hello?",
                "timestamp": "2026-03-01T12:01:00Z",
            },
        ],
    ),
    "prompts": ("sharegpt", {"id": "c-4", "conversations": [{"from": "human", "value": "Hello?"}]}),
    "team": (
        "metagpt",
        [{"content": "Hello?", "role": "Human", "cause_by": "a.UserRequirement", "sent_from": "", "send_to": []}],
    ),
}


@pytest.mark.parametrize(("format", "content"), REQUESTS.values(), ids=REQUESTS)
def test_requests_without_an_answer_are_a_partial_run(format: str, content: Any) -> None:
    source = Source(name="requests.json", data=orjson.dumps(content))
    (run,) = registry.get_importer(format).runs([source])
    assert (run.status, source.problems) == (RunStatus.PARTIAL, [])
    assert {step.type.value for step in run.steps} == {"agent", "turn"}


def test_table_by_columns_is_no_format_of_its_own() -> None:
    """The reader tries its rows: no column is a span, although all names are there."""
    names = ("name", "context.span_id", "context.trace_id", "attributes.llm.model_name", "start_time")
    table = {name: {"0": None, "1": "x"} for name in names}
    with pytest.raises(BadFile, match=r"no known format has an object with the keys attributes\.llm\.model_name"):
        registry.detect(fixtures.sample("spans.json", orjson.dumps(table)))
