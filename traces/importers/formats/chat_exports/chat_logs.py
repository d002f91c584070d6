"""Logs of chats: activities of Gemini in Google's Takeout, chats of AnythingLLM, and trackers of Rasa.

Takeout      [{"header": "Gemini Apps", "title": "Prompted …", "time", "safeHtmlItem": [{"html"}], "details"?}]
AnythingLLM  [{"id", "workspace", "prompt", "response", "sent_at", "username", "rating", "attachments"}]
Rasa         {"sender_id", "slots", "events": [{"event": "user", "text", "parse_data"}, {"event": "action", …}, …]}
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_list, has_string, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.judgements import judgement
from traces.importers.formats.chat_exports.chats import Chat

_GEMINI: Final = re.compile(r"https://gemini\.google\.com/(?:u/\d+/)?(?:app|gem/[^/?#]+)/([0-9a-zA-Z_-]+)")
_PREFIX: Final = "Prompted "
_ACTIVITY: Final = ("title", "time", "header", "safeHtmlItem", "titleUrl", "details", "products", "activityControls")
_ROW: Final = frozenset({"workspace", "prompt", "response", "sent_at"})
_RATINGS: Final = {"GOOD": True, "BAD": False}
_TURN_FACTS: Final = ("parse_data", "metadata", "input_channel", "message_id")
# Actions of Rasa that end a turn or begin a session.
_CONTROL: Final = frozenset({"action_listen", "action_session_start"})
# An action that only says something, which follows.
_UTTERANCE: Final = "utter_"


def is_activity(body: JSONObject) -> bool:
    """Return whether an object is a prompt to Gemini in Google's log of activities; other activities are none."""
    is_gemini = "Gemini" in as_text(body.get("header")) and has_string(body, "title") and has_string(body, "time")
    return is_gemini and (has_list(body, "safeHtmlItem") or as_text(body["title"]).startswith(_PREFIX))


def add_activity(chats: dict[str, Chat], body: JSONObject, location: str) -> None:
    """Add a prompt and its answer to the chat that its link names; without a link it is a chat of its own."""
    links = [as_text(body.get("titleUrl")), *(as_text(item.get("url")) for item in as_objects(body.get("details")))]
    id = next((match[1] for link in links if (match := _GEMINI.search(link))), "")
    source: JSONObject = {name: body[name] for name in ("header", "products", "activityControls") if name in body}
    chat = chats.setdefault(id or location, Chat(app="gemini", location=location, id=id, facts=source))
    time = body.get("time")
    title = as_text(body["title"])
    facts: JSONObject = {"activity": _PREFIX.strip()} if title.startswith(_PREFIX) else {}
    chat.begin_answer()
    chat.add_message("user", title.removeprefix(_PREFIX), time, **facts, **omit(body, *_ACTIVITY))
    for item in as_objects(body.get("safeHtmlItem")):
        # As Google exports it, because the markup has links.
        chat.add_text(item.get("html"), time)


def is_anything_llm(body: JSONObject) -> bool:
    return body.keys() >= _ROW and not body.keys().isdisjoint({"rating", "username", "attachments"})


def read_anything_llm(body: JSONObject, location: str) -> Iterator[Chat]:
    """Yield a prompt and its answer. Of which thread they are was not exported."""
    workspace = as_text(body.get("workspace"))
    chat = Chat(
        app="anything-llm",
        location=location,
        id="/".join(("anything-llm", workspace, as_text(body.get("id")))) if body.get("id") else "",
        facts=omit(body, "id", "prompt", "response", "sent_at", "attachments"),
    )
    attachments = as_list(body.get("attachments"))
    text: list[JSONValue] = [{"type": "text", "text": body.get("prompt")}]
    chat.add_message("user", [*text, *attachments] if attachments else body.get("prompt"), body.get("sent_at"))
    chat.add_text(body.get("response"), body.get("sent_at"))
    rating = as_text(body.get("rating")).upper()
    if rating in _RATINGS:
        chat.judgements.append(judgement("rating", float(_RATINGS[rating]), text=rating.lower()))
    yield chat


def is_rasa(body: JSONObject) -> bool:
    return has_string(body, "sender_id") and any("event" in event for event in as_objects(body.get("events"))[:1])


@dataclass(kw_only=True)
class _Action:
    """An action that the assistant runs, and what it has done so far."""

    id: str
    slots: JSONObject = field(default_factory=dict)
    replies: list[JSONObject] = field(default_factory=list)
    time: JSONValue = None


def read_rasa(body: JSONObject, location: str) -> Iterator[Chat]:
    """Yield the conversation of a tracker. Its actions are tool steps; the slots that these set are their results."""
    facts: JSONObject = omit(body, "events", "sender_id", "latest_message")
    chat = Chat(app="rasa", location=location, id=as_text(body.get("sender_id")), facts=facts)
    action: _Action | None = None
    # What chose the next reply.
    choice: JSONObject = {}
    for number, event in enumerate(as_objects(body.get("events"))):
        kind, name, time = event.get("event"), as_text(event.get("name")), event.get("timestamp")
        if action is not None and kind in ("slot", "bot"):
            action.time = time
            action.slots |= {name: event.get("value")} if kind == "slot" else {}
            action.replies += [event] if kind == "bot" else []
            continue
        if kind in ("user", "action") and action is not None:
            _end_action(chat, action)
            action = None
        if kind == "user" and event.get("text"):
            turn_facts = {key: event[key] for key in _TURN_FACTS if event.get(key)}
            chat.begin_answer()
            chat.add_message("user", event["text"], time, **turn_facts)
        elif kind == "bot":
            _add_reply(chat, event)
            chat.pieces.annotate(choice)
            choice = {}
        elif kind == "action" and name not in _CONTROL:
            settings: JSONObject = {key: event[key] for key in ("policy", "confidence") if event.get(key) is not None}
            if name.startswith(_UTTERANCE):
                choice = {"action": name, **settings}
                continue
            action = _Action(id=f"action-{number}", time=time)
            chat.add_call(action.id, name, settings, time)
    if action is not None:
        _end_action(chat, action)
    yield chat


def _end_action(chat: Chat, action: _Action) -> None:
    chat.add_result(action.id, action.slots, action.time)
    for reply in action.replies:
        _add_reply(chat, reply)


def _add_reply(chat: Chat, event: JSONObject) -> None:
    """Add what the assistant said; each reply is an answer of its own."""
    parts = {key: item for key, item in as_object(event.get("data")).items() if item not in (None, "", [], {})}
    chat.begin_answer()
    chat.add_text(event.get("text"), event.get("timestamp"))
    if parts:
        chat.pieces.add_block({"type": "data", **parts}, event.get("timestamp"), chat.location)
    metadata = as_object(event.get("metadata"))
    chat.pieces.annotate({"metadata": omit(metadata, "model_id", "assistant_id")})
