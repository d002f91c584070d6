"""Tool call ids: ignored when comparing calls, restored on repeated ones. Pure."""

from dataclasses import replace

from replay.core.calls import Answer
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.messages import Message, ModelAnswer


def with_recorded_ids(answer: Answer, recorded_message: JSONObject) -> Answer:
    """Restore the recorded ids of tool calls that repeat recorded ones, in order."""
    output = answer.output
    model_answer = ModelAnswer(output)
    calls = model_answer.calls
    if not answer.is_known or not calls or not isinstance(output, dict):
        return answer
    open_calls = Message(recorded_message).calls
    recorded_ids: JSONObject = {}
    new_calls: list[JSONValue] = []
    for call in calls:
        match = next(
            (recorded_call for recorded_call in open_calls if _call_key(recorded_call) == _call_key(call)), None
        )
        if match is not None:
            open_calls.remove(match)
            if match.get("id") != call.get("id"):
                recorded_ids[str(call.get("id"))] = match.get("id")
                call = {**call, "id": match.get("id")}
        new_calls.append(call)
    if not recorded_ids:
        return answer
    new: JSONObject = {**output, "message": {**model_answer.message, "tool_calls": new_calls}}
    return replace(answer, output=new, output_ref="", detail={**answer.detail, "call_ids": recorded_ids})


def requested_calls(message: JSONObject) -> list[str]:
    """Tool calls that a message requests, without their ids."""
    return [_call_key(call) for call in Message(message).calls]


def requests(message: JSONObject, call: JSONObject) -> bool:
    """True if a message requests a tool call, at any place."""
    return _call_key(call) in requested_calls(message)


def _call_key(call: JSONObject) -> str:
    return digest([call.get("name"), call.get("arguments")])
