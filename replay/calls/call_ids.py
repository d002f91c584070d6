"""Tool call ids: ignored when comparing calls, restored on repeated ones. Pure."""

from dataclasses import replace

from replay.core.calls import Answer
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.messages import Message, ModelAnswer


def aligned(answer: Answer, recorded: JSONObject) -> Answer:
    """Restore the recorded ids of tool calls that repeat recorded ones, in order."""
    output = answer.output
    said = ModelAnswer(output)
    calls = said.calls
    if not answer.is_known or not calls or not isinstance(output, dict):
        return answer
    waiting = Message(recorded).calls
    renamed: JSONObject = {}
    kept: list[JSONValue] = []
    for call in calls:
        match = next((old for old in waiting if _call_key(old) == _call_key(call)), None)
        if match is not None:
            waiting.remove(match)
            if match.get("id") != call.get("id"):
                renamed[str(call.get("id"))] = match.get("id")
                call = {**call, "id": match.get("id")}
        kept.append(call)
    if not renamed:
        return answer
    new: JSONObject = {**output, "message": {**said.message, "tool_calls": kept}}
    return replace(answer, output=new, output_ref="", detail={**answer.detail, "call_ids": renamed})


def asked(message: JSONObject) -> list[str]:
    """Tool calls that a message requests, without their ids."""
    return [_call_key(call) for call in Message(message).calls]


def _call_key(call: JSONObject) -> str:
    return digest([call.get("name"), call.get("arguments")])
