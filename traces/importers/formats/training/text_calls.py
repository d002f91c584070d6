"""Calls of tools inside the text of an answer, as models without calls of tools write them, and their results."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_object, as_text, first_member
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus
from traces.importers.common.transcript_messages import TextAction
from traces.importers.files import python_literals

_TAGGED_CALL: Final = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.S)
_TAGGED_RESULT: Final = re.compile(r"<tool_response>(.*?)(?:</tool_response>|$)", re.S)
_FUNCTION: Final = re.compile(r"<function=([\w.-]+)>(.*?)(?:</function>|$)", re.S)
_PARAMETER: Final = re.compile(r"<parameter=([\w.-]+)>(.*?)(?:</parameter>|$)", re.S)
# Of the tools that one answer calls.
MOST_RESULTS: Final = 100


def results_after(messages: list[JSONValue], index: int) -> list[JSONValue]:
    """Return what a message of the user, or those of tools without ids of calls, say after an answer."""
    results: list[JSONValue] = []
    for message in map(as_object, messages[index + 1 : index + 1 + MOST_RESULTS]):
        if message.get("role") == "user" and not results:
            return [message.get("content")]
        if message.get("role") != "tool" or message.get("tool_call_id"):
            break
        results.append(message.get("content"))
    return results


def answer_actions(text: str, results: list[JSONValue]) -> tuple[TextAction, ...]:
    """Return the calls in a text with their results: a message for each of them, or one for all."""
    actions = text_calls(text, results[0] if len(results) == 1 else [*results] or None)
    if len(actions) == len(results) > 1:
        return tuple(replace(action, output=result) for action, result in zip(actions, results, strict=True))
    return actions


def text_calls(content: str, result: JSONValue) -> tuple[TextAction, ...]:
    """Return the calls inside the text of an answer, with what the message after it says that they returned."""
    calls = [*_json_calls(content), *_xml_calls(content)]
    outputs = _results(result)
    is_by_call = len(outputs) == len(calls)
    return tuple(
        TextAction(
            name=name,
            arguments=arguments,
            output=outputs[index] if is_by_call else result,
            status=StepStatus.PARTIAL if result is None else StepStatus.OK,
        )
        for index, (name, arguments) in enumerate(calls)
    )


def _json_calls(content: str) -> Iterator[tuple[str, JSONValue]]:
    """Yield calls in the style of Hermes models, whose own data set has them as literals of Python."""
    for call in (as_object(python_literals.parse_literal(match.strip())) for match in _TAGGED_CALL.findall(content)):
        if name := as_text(call.get("name")):
            yield name, first_member(call, "arguments", "parameters")


def _xml_calls(content: str) -> Iterator[tuple[str, JSONValue]]:
    """Yield calls as OpenHands and SWE-smith write them for models without calls of tools."""
    for name, body in _FUNCTION.findall(content):
        yield name, {key: value.strip("\n") for key, value in _PARAMETER.findall(body)}


def _results(result: JSONValue) -> list[JSONValue]:
    """Return the results that a text has in tags, without these; Hermes Agent repeats the call in them."""
    bodies = [python_literals.parse_literal(text.strip()) for text in _TAGGED_RESULT.findall(as_text(result))]
    return [
        body["content"] if isinstance(body, dict) and {"name", "content"} <= body.keys() else body for body in bodies
    ]
