"""Interactions of Kurral artifacts: requests paired with answers, and the tool calls of each."""

import re
from dataclasses import dataclass

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.importers.common.messages import result_text
from traces.importers.files.json_reader import parse_embedded

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Interaction:
    key: str
    request: str
    answer: str
    error: str
    tools: list[RecordedStep]


def read_interactions(
    artifact: JSONObject, inputs: JSONObject, outputs: JSONObject, tools: list[RecordedStep]
) -> list[Interaction]:
    """Pair requests with answers by position. Early artifacts have one interaction, outside of any list."""
    requests, answers = as_list(inputs.get("interactions")), as_list(outputs.get("interactions"))
    if not requests and not answers and (first_member(inputs, "input") or first_member(outputs, "output")):
        requests, answers = [dict(inputs)], [dict(outputs)]
    prompt_input = first_member(as_object(as_object(artifact.get("resolved_prompt")).get("variables")), "input")
    if not requests and not answers and prompt_input:
        requests, answers = [{"input": prompt_input}], [{"error": "no answer was recorded"}]
    pairs = [
        (
            as_object(requests[index]) if index < len(requests) else {},
            as_object(answers[index]) if index < len(answers) else {},
        )
        for index in range(max(len(requests), len(answers)))
    ]
    words = [_words(f"{result_text(request)} {result_text(answer)}") for request, answer in pairs]
    tools_by_interaction = _assign_tools(tools, words)
    return [
        Interaction(
            key=f"turn-{index + 1}",
            request=_plain_text(first_member(request, "input") or answer.get("input")),
            answer=_plain_text(answer.get("output")),
            error=_plain_text(answer.get("error")),
            tools=tools_by_interaction[index],
        )
        for index, (request, answer) in enumerate(pairs)
    ]


def _assign_tools(tools: list[RecordedStep], words: list[set[str]]) -> list[list[RecordedStep]]:
    """Assign each call, in order, to the interaction with the most words in common."""
    groups: list[list[RecordedStep]] = [[] for _ in words]
    position = 0
    for tool in tools if words else []:
        tool_words = _words(f"{result_text(tool.input)} {result_text(tool.output)[:500]}")
        position = max(range(position, len(words)), key=lambda index: (len(tool_words & words[index]), -index))
        groups[position].append(tool)
    return groups


def _words(content: str) -> set[str]:
    return set(_WORD.findall(content.lower()))


def _plain_text(value: JSONValue) -> str:
    return (
        ""
        if value is None
        else result_text(parse_embedded(value))
        if isinstance(value, dict | list)
        else as_text(value)
    )
