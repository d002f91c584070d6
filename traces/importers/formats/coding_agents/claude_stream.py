"""Output of `claude -p`, of the Claude Agent SDK, and of other programs in its form, as lines of a session file.

Such lines name their session by `session_id` and the call of a sub-agent by `parent_tool_use_id`, and have no parents.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from traces.core.json_access import as_object, as_text, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement
from traces.core.vocabulary import JudgementKind
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.transcript_messages import TranscriptSettings
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import claude_messages
from traces.ingest.outcome_rules import TERMINATION

CALLER: Final = "parent_tool_use_id"
_BEGINNING: Final = "init"
_RESULT: Final = "result"
_CLAUDE_CODE: Final = TranscriptSettings(provider="anthropic", agent="claude-code")


def is_line(value: JSONValue) -> bool:
    """Return True if `value` is the first line, a message or the result of such output."""
    body = as_object(value)
    if "session_id" not in body:
        return False
    match as_text(body.get("type")):
        case "system":
            return body.get("subtype") == _BEGINNING
        case "user" | "assistant":
            return has_object(body, "message")
        case kind:
            return kind == _RESULT and "subtype" in body


def statement(record: JSONObject) -> str:
    """Return whether a record is the command's `init` or its `result`; empty if it is neither."""
    if "session_id" not in record or "sessionId" in record:
        return ""
    kind = as_text(record.get("type"))
    if kind == "system" and record.get("subtype") == _BEGINNING:
        return _BEGINNING
    return kind if kind == _RESULT else ""


def read_records(source: Source) -> Iterator[tuple[JSONObject, str]]:
    """Yield the records of a file, with those of such output as lines of a session file."""
    latest_ids: dict[tuple[str, str], str] = {}
    is_list = not source.is_lines and isinstance(source.value, list)
    records = source.entries() if is_list else source.objects()
    first = next(records, None)
    if first is None:
        return
    records = chain([first], records)
    if claude_messages.has_no_type(first[0]):
        records = claude_messages.add_types(records, source.name)
    for number, (record, location) in enumerate(records):
        if not is_line(record) or statement(record):
            yield record, location
            continue
        session, caller = as_text(record.get("session_id")), as_text(record.get(CALLER))
        id = as_text(record.get("uuid")) or f"line-{number}"
        parent = latest_ids.get((session, caller))
        latest_ids[session, caller] = id
        ids: JSONObject = {"sessionId": session, "uuid": id, "parentUuid": parent, "isSidechain": bool(caller)}
        yield {**record, **ids}, location


def settings(session: str, beginning: JSONObject) -> TranscriptSettings:
    """Return the program that wrote a session and its provider: Amp and Qwen Code have such output, too."""
    if "qwen_code_version" in beginning:
        model = as_text(beginning.get("model"))
        return TranscriptSettings(provider=normalize_provider(None, model), agent="qwen-code")
    # Amp names its threads so, and tells neither its models nor their providers.
    return TranscriptSettings(agent="amp") if session.startswith("T-") else _CLAUDE_CODE


def read_termination(result: JSONObject) -> list[RecordedJudgement]:
    """Return the reason for which a session was cut off."""
    reason = as_text(result.get("subtype"))
    if reason in ("", "success"):
        return []
    return [RecordedJudgement(name=TERMINATION, kind=JudgementKind.FAIL, text=reason)]
