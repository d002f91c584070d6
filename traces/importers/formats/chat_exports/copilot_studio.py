"""Transcripts of Copilot Studio: rows of its table, transcripts of Direct Line and test chats.

row         {"conversationtranscriptid", "name", "conversationstarttime", "metadata", "content": transcript as text}
transcript  {"activities": [{"type", "timestamp", "from": {"role"}, "text" | "name", "valueType", "value"}]}

A step of a plan is a call of a tool: one event starts it, a second has its arguments, and a third its result. All other
events of the program are in the run's metadata.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.judgements import judgement
from traces.importers.common.times import parse_time
from traces.importers.files.json_reader import parse_embedded
from traces.importers.formats.chat_exports.chats import Chat

_APP: Final = "copilot-studio"
_CONTENT: Final = ("content", "Content")
_IDS: Final = ("conversationtranscriptid", "ConversationTranscript", "Id")
# Roles are names, or numbers in the table.
_BOT: Final = frozenset({"bot", "0"})
_TRIGGER: Final = "DynamicPlanStepTriggered"
_BIND: Final = "DynamicPlanStepBindUpdate"
_FINISH: Final = "DynamicPlanStepFinished"
_PLAN_STEP: Final = frozenset({_TRIGGER, _BIND, _FINISH})
_CALL_FACTS: Final = ("arguments", "observation", "thought", "taskDialogId", "stepId", "planIdentifier", "state")
_FAILED: Final = frozenset({"failed", "error", "blocked"})
_FEEDBACK: Final = "message/submitAction"
_REACTIONS: Final = {"like": 1.0, "dislike": 0.0}
_ROUTING: Final = ("from", "recipient", "conversation", "timestamp", "type", "text", "name", "valueType", "value", "id")


@dataclass(kw_only=True)
class _Plans:
    """The steps of all plans of a conversation, by their ids."""

    arguments: dict[str, JSONValue] = field(default_factory=dict)
    started_ids: set[str] = field(default_factory=set)


def is_copilot_studio(body: JSONObject) -> bool:
    """Return whether an object is a transcript, or a row that contains one."""
    activities = _activities(body)[:5]
    return any("type" in activity and {"from", "valueType"} & activity.keys() for activity in activities)


def read_copilot_studio(body: JSONObject, location: str) -> Iterator[Chat]:
    """Yield the conversation of a transcript."""
    activities = _activities(body)
    metadata = as_object(parse_embedded(first_member(body, "metadata", "Metadata")))
    conversation = next((id for item in activities if (id := as_object(item.get("conversation")).get("id"))), None)
    chat = Chat(
        app=as_text(metadata.get("BotName")) or _APP,
        location=location,
        id=as_text(first_member(body, *_IDS) or conversation),
        facts={**omit(body, *_CONTENT, "activities", "Activities", "metadata", "Metadata"), "metadata": metadata},
    )
    plans = _Plans()
    for activity in activities:
        value = as_object(activity.get("value"))
        if _kind(activity) == _BIND:
            plans.arguments[_step_id(value)] = value.get("arguments")
    events: list[JSONValue] = []
    for activity in activities:
        if _kind(activity) in _PLAN_STEP:
            _add_plan_step(chat, plans, activity)
        elif activity.get("type") == "message":
            _add_message(chat, activity)
        elif not _add_outcome(chat, activity) and activity.get("type") != "typing":
            events.append({name: item for name, item in activity.items() if item not in (None, "", [], {})})
    chat.facts["events"] = events
    yield chat


def _activities(body: JSONObject) -> list[JSONObject]:
    """Return the activities of a transcript; empty for any other object."""
    content = first_member(body, *_CONTENT)
    if isinstance(content, str):
        content = parse_embedded(content) if '"activities"' in content[:100].lower() else None
    transcript = as_object(content) or body
    activities = as_objects(first_member(transcript, "activities", "Activities"))
    # Some programs write the names in the style of .NET.
    return [{name[:1].lower() + name[1:]: item for name, item in activity.items()} for activity in activities]


def _kind(activity: JSONObject) -> str:
    return as_text(first_member(activity, "valueType", "name"))


def _step_id(value: JSONObject) -> str:
    return (
        as_text(value.get("stepId")) or f"{as_text(value.get('planIdentifier'))}/{as_text(value.get('taskDialogId'))}"
    )


def _add_plan_step(chat: Chat, plans: _Plans, activity: JSONObject) -> None:
    value, time = as_object(activity.get("value")), activity.get("timestamp")
    id, name = _step_id(value), as_text(value.get("taskDialogId"))
    if id not in plans.started_ids:
        plans.started_ids.add(id)
        chat.add_text(value.get("thought"), time, is_thought=True)
        chat.add_call(id, name, plans.arguments.get(id) or {}, time)
        chat.pieces.annotate({"plan": value.get("planIdentifier")})
    if _kind(activity) == _FINISH:
        state = as_text(value.get("state"))
        facts = omit(value, *_CALL_FACTS)
        result = value.get("observation")
        chat.add_result(id, "" if result is None else result, time, is_failed=state.lower() in _FAILED, **facts)


def _add_message(chat: Chat, activity: JSONObject) -> None:
    """Add what the user or the agent said; each message of the agent is an answer of its own."""
    sender = as_object(first_member(activity, "from"))
    time, text = activity.get("timestamp"), as_text(activity.get("text"))
    parts = {name: item for name in ("attachments", "suggestedActions") if (item := activity.get(name))}
    members = {name: item for name, item in omit(activity, *_ROUTING, *parts).items() if item not in (None, "", [], {})}
    facts: JSONObject = {**({"message_id": activity["id"]} if activity.get("id") else {}), **members}
    chat.begin_answer()
    if str(first_member(sender, "role", "Role")).lower() not in _BOT:
        # A click on a card has a value and often no text.
        value = activity.get("value")
        click: JSONObject = {"value": value} if value is not None else {}
        user_id = as_text(first_member(sender, "aadObjectId", "id", "Id"))
        chat.facts.setdefault("user_id", user_id)
        content = text or (parse_embedded(value) if value is not None else "")
        chat.add_message("user", content, time, **(click if text else {}), **parts, **facts)
        return
    chat.add_text(text, time)
    if parts:
        chat.pieces.add_block({"type": "data", **parts}, time, chat.location)
    chat.pieces.annotate(facts)


def _add_outcome(chat: Chat, activity: JSONObject) -> bool:
    """Add a verdict, a score or an error that an activity states; false for any other activity."""
    value, kind = as_object(activity.get("value")), _kind(activity)
    at = parse_time(activity.get("timestamp"), chat.location)
    if kind == "ErrorTraceData":
        error = as_text(first_member(value, "errorMessage", "errorCode")) or "error"
        chat.pieces.add_message(
            {"role": "assistant", "content": None, "error": error, "ts": activity.get("timestamp"), "details": value},
            chat.location,
        )
        return True
    if kind == "CSATSurveyResponse" and value.get("score") is not None:
        chat.judgements.append(judgement("csat", value["score"], text=as_text(value.get("comment")), at=at))
        return False
    if kind == "SessionInfo" and value.get("outcome"):
        outcome = as_text(value["outcome"])
        chat.judgements.append(judgement("resolved", True) if outcome == "Resolved" else judgement("outcome", outcome))
        return False
    reaction = as_object(value.get("actionValue"))
    if activity.get("name") == _FEEDBACK and as_text(reaction.get("reaction")) in _REACTIONS:
        feedback = parse_embedded(reaction.get("feedback"))
        text = as_text(as_object(feedback).get("feedbackText")) or as_text(feedback)
        chat.judgements.append(judgement("reaction", _REACTIONS[as_text(reaction["reaction"])], text=text, at=at))
    return False
