"""The files in which opencode stored sessions before its database: one per session, message and part."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_object, as_text, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Record, Source

_SESSION: Final = frozenset({"id", "projectID", "title", "time"})
_MESSAGE: Final = frozenset({"id", "sessionID", "role", "time"})
_PART: Final = frozenset({"id", "sessionID", "messageID", "type"})


def is_stored(value: JSONValue) -> bool:
    """Return True if `value` is a session, a message or a part."""
    body = as_object(value)
    is_message = body.keys() >= _MESSAGE and not has_list(body, "parts")
    return body.keys() >= _SESSION or is_message or body.keys() >= _PART


def read(sources: Sequence[Source]) -> Iterator[Record]:
    """Yield each session of these files with its messages and their parts. Add a problem for one without messages."""
    sessions: dict[str, JSONObject] = {}
    messages: dict[str, dict[str, JSONObject]] = defaultdict(dict)
    parts: dict[str, dict[str, JSONObject]] = defaultdict(dict)
    for source in sources:
        body = as_object(source.value)
        id = as_text(body["id"])
        if body.keys() >= _PART:
            parts[as_text(body["messageID"])][id] = body
        elif body.keys() >= _MESSAGE:
            messages[as_text(body["sessionID"])][id] = body
        else:
            sessions[id] = body
    # The ids of messages and parts are in the order of their creation.
    for id in {**sessions, **messages}:
        contents: list[JSONValue] = [
            {"info": message, "parts": [part for _, part in sorted(parts[key].items())]}
            for key, message in sorted(messages[id].items())
        ]
        if contents:
            yield Record(
                value={"info": {"id": id, **sessions.get(id, {})}, "messages": contents}, location=f"session {id}"
            )
        else:
            sources[-1].problems.append(BadFile("a session without messages: import its folder, too", f"session {id}"))
