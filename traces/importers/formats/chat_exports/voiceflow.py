"""Transcripts of Voiceflow, as both versions of its API return them.

turns       [{"turnID", "format": "launch" | "request" | "trace", "type", "payload": {"type", "payload"}, "startTime"}]
transcript  {"transcript": {"id", "logs": [{"type": "action" | "trace", "data": {"type", "payload"}, "createdAt"}]}}
"""

from collections.abc import Iterable, Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.judgements import judgement
from traces.importers.files.json_reader import parse_embedded
from traces.importers.formats.chat_exports.chats import Chat

_APP: Final = "voiceflow"
_TURN: Final = frozenset({"turnID", "payload", "startTime"})
_ACTIONS: Final = frozenset({"request", "action", "launch"})
# Traces that the user sees or hears.
_SPEECH: Final = frozenset({"text", "speak"})
_CARDS: Final = frozenset({"visual", "choice", "card-v2", "carousel", "cardV2", "audio"})
_TEXTS: Final = ("message", "query", "text", "label")


def is_turn(body: JSONObject) -> bool:
    """Return whether an object is a turn of a dialog."""
    return body.keys() >= _TURN


def is_transcript(body: JSONObject) -> bool:
    """Return whether an object is a transcript with its logs."""
    return has_list(body.get("transcript"), "logs")


def read_turns(turns: Iterable[JSONObject], location: str) -> Chat:
    """Return the dialog of turns, whose transcript is not named in them."""
    chat = Chat(app=_APP, location=location)
    entries = ((turn.get("format") or turn.get("type"), turn.get("payload"), turn.get("startTime")) for turn in turns)
    _add_entries(chat, entries)
    return chat


def read_transcript(body: JSONObject, location: str) -> Iterator[Chat]:
    """Yield the dialog of a transcript; its evaluations are judgements."""
    transcript = as_object(body.get("transcript"))
    chat = Chat(
        app=_APP,
        location=location,
        id=as_text(first_member(transcript, "id", "sessionID")),
        facts=omit(transcript, "id", "logs", "evaluations"),
    )
    logs = as_objects(transcript.get("logs"))
    _add_entries(chat, ((log.get("type"), log.get("data"), log.get("createdAt")) for log in logs))
    for evaluation in as_objects(transcript.get("evaluations")):
        if evaluation.get("value") is not None:
            reason = as_text(evaluation.get("reason"))
            chat.judgements.append(judgement(as_text(evaluation.get("name")), evaluation["value"], text=reason))
    yield chat


def _add_entries(chat: Chat, entries: Iterable[tuple[JSONValue, JSONValue, JSONValue]]) -> None:
    """Add what was said; traces of the program are events of the chat."""
    events: list[JSONValue] = []
    for kind, data, time in entries:
        # What is no object is a text, or was redacted.
        entry = as_object(parse_embedded(data)) or {"type": kind, "payload": data}
        payload = entry.get("payload")
        type = as_text(entry.get("type"))
        if kind in _ACTIONS and type != "launch":
            intent = omit(as_object(payload), "query") if isinstance(payload, dict) else {}
            chat.begin_answer()
            chat.add_message("user", _text(payload) or type, time, **({"intent": intent} if intent else {}))
        elif type in _SPEECH:
            chat.begin_answer()
            chat.add_text(_text(payload), time)
            chat.pieces.annotate(omit(as_object(payload), "message", "type", "slate"))
        elif type in _CARDS:
            chat.pieces.add_block({"type": "data", type: payload}, time, chat.location)
        else:
            events.append({**entry, "time": time})
    chat.facts["events"] = events


def _text(payload: JSONValue) -> str:
    """Return the text of a request or a trace."""
    return payload if isinstance(payload, str) else as_text(first_member(as_object(payload), *_TEXTS))
