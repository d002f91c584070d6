"""Model calls and usage that a tracer records at the span of an agent only, without spans of its model calls.

    agent (task, answers, tokens)          agent (tokens)
      tool find (call c1)             →      answer 1: calls find (c1)
                                             tool find (call c1)
                                             answer 2: the rest

The spans of the model calls may still come in another part of the trace. The agent therefore retains its attributes,
and everything here is computed again from them when the parts are united.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import message_text, normalize_messages, result_text
from traces.importers.common.model_calls import Usage, normalize_provider
from traces.importers.files.errors import BadFile
from traces.importers.otlp.dialects.attribute_names import insert, to_lists
from traces.importers.otlp.dialects.message_copies import PREFIX, flat_message
from traces.importers.otlp.dialects.usage import recorded_usage

_ANSWERS: Final = "llm.output_messages"
_MODEL: Final = "llm.model_name"
_PREFIXES: Final = ("llm.", "gen_ai.usage.", "ai.usage.")
_PROVIDERS: Final = ("llm.provider", "llm.system")
# Between the key of an agent and the number of its answer.
_KEY: Final = "/answer-"


def without_agent_calls(steps: Iterable[RecordedStep]) -> list[RecordedStep]:
    """Return the steps as their spans record them."""
    return [_without_usage(step) for step in steps if not _is_derived(step)]


def add_agent_calls(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Add to agents without spans of model calls what they record of these; `steps` are in causal order."""
    if not any(map(_records_calls, [step for step in steps if step.type is StepType.AGENT])):
        return list(steps)
    usages, answers = _agents_with_usage(steps), _placed_answers(steps)
    result: list[RecordedStep] = []
    for step in steps:
        result += answers.get(_before(step.key), [])
        result.append(usages.get(step.key, step))
        result += answers.get(_after(step.key), [])
    return result


def _records_calls(step: RecordedStep) -> bool:
    return any(name.startswith(_PREFIXES) for name in step.attributes)


def _is_derived(step: RecordedStep) -> bool:
    return step.parent is not None and step.key.startswith(f"{step.parent}{_KEY}")


def _without_usage(step: RecordedStep) -> RecordedStep:
    if step.type is not StepType.AGENT or not _records_calls(step):
        return step
    return replace(step, tokens_in=None, tokens_out=None, tokens_cached=None, cost_usd=None)


def _last_inside(steps: Iterable[RecordedStep], parents: Mapping[str, str | None]) -> dict[str, str]:
    """Return the last of these steps inside each other step; steps around it that have one have a later one."""
    last_keys: dict[str, str] = {}
    for step in reversed(list(steps)):
        key = step.parent
        while key is not None and key not in last_keys:
            last_keys[key] = step.key
            key = parents.get(key)
    return last_keys


def _agents_with_usage(steps: Sequence[RecordedStep]) -> dict[str, RecordedStep]:
    """Return the agents whose usage no step inside states, with it. The sum of an agent includes agents inside."""
    parents = {step.key: step.parent for step in steps}
    counted_keys = _last_inside(
        (step for step in steps if step.tokens_in is not None or step.cost_usd is not None), parents
    )
    agents: dict[str, RecordedStep] = {}
    covered_keys: set[str | None] = set()
    for step in steps:
        usage = _usage(step)
        if step.parent in covered_keys:
            covered_keys.add(step.key)
        elif usage is not None and step.key not in counted_keys:
            covered_keys.add(step.key)
            agents[step.key] = replace(
                step,
                tokens_in=usage.tokens_in,
                tokens_out=usage.tokens_out,
                tokens_cached=usage.tokens_cached,
                cost_usd=usage.cost_usd,
            )
    return agents


def _usage(step: RecordedStep) -> Usage | None:
    try:
        return recorded_usage(step.attributes, step.key) if step.type is StepType.AGENT else None
    except BadFile:
        # A count that is none stays an attribute.
        return None


def _placed_answers(steps: Sequence[RecordedStep]) -> dict[tuple[str, bool], list[RecordedStep]]:
    """Return the answers of agents by their places: before the first tool that they call, or behind the last step."""
    parents = {step.key: step.parent for step in steps}
    with_models = _last_inside((step for step in steps if step.type is StepType.MODEL), parents)
    last_keys = _last_inside(steps, parents)
    tools: defaultdict[str | None, dict[str, RecordedStep]] = defaultdict(dict)
    for step in steps:
        if step.type is StepType.TOOL:
            tools[step.parent][step.call_id] = step
    places: defaultdict[tuple[str, bool], list[RecordedStep]] = defaultdict(list)
    for agent in steps:
        if agent.type is not StepType.AGENT or agent.key in with_models:
            continue
        answers = _agent_answers(agent, tools[agent.key])
        # Otherwise, the agent states only some of the answers.
        if tools[agent.key].keys() <= {call for _, calls in answers for call in calls}:
            for answer, calls in answers:
                first_tool = next((tools[agent.key][call].key for call in calls if call in tools[agent.key]), None)
                place = _before(first_tool) if first_tool else _after(last_keys.get(agent.key, agent.key))
                places[place].append(answer)
    return places


def _before(key: str) -> tuple[str, bool]:
    return key, False


def _after(key: str) -> tuple[str, bool]:
    return key, True


def _agent_answers(agent: RecordedStep, tools: Mapping[str, RecordedStep]) -> list[tuple[RecordedStep, list[str]]]:
    """Return a model step for each answer of an agent, with the ids of its calls."""
    history, answers = _task(agent), _joined_answers(_messages(agent, _ANSWERS))
    model = as_text(agent.attributes.get(_MODEL))
    provider = next((value for name in _PROVIDERS if (value := agent.attributes.get(name))), None)
    result: list[tuple[RecordedStep, list[str]]] = []
    for number, message in enumerate(answers, 1):
        calls = [as_text(as_object(call).get("id")) for call in as_list(message.get("tool_calls"))]
        step = RecordedStep(
            key=f"{agent.key}{_KEY}{number}",
            type=StepType.MODEL,
            name=model or "model",
            parent=agent.key,
            provider=normalize_provider(provider, model),
            model=model,
            input={"messages": [*history]} if history else None,
            output={"message": message},
        )
        result.append((step, calls))
        results = [_result(tools[call]) for call in calls if call in tools]
        history = [*history, message, *results]
    return result


def _task(agent: RecordedStep) -> list[JSONObject]:
    """Return the messages that an agent began with."""
    if messages := _messages(agent, PREFIX):
        return messages
    task = as_object(agent.input)
    if "messages" in task:
        return normalize_messages(task["messages"])
    return [{"role": "user", "content": task["task"]}] if isinstance(task.get("task"), str) else []


def _messages(agent: RecordedStep, prefix: str) -> list[JSONObject]:
    tree: JSONObject = {}
    for name, value in agent.attributes.items():
        if name.startswith(f"{prefix}."):
            insert(tree, name[len(prefix) + 1 :], value)
    items = as_list(to_lists(tree)) if tree else []
    return normalize_messages([_message(as_object(as_object(item).get("message"))) for item in items])


def _message(message: JSONObject) -> JSONObject:
    """Return a message from its flattened form, in which the texts of Claude's blocks have indexes."""
    content = message.get("content")
    texts: list[JSONValue] = [{"type": "text", "text": text} for text in as_list(content)]
    return flat_message({**message, "content": texts or content})


def _joined_answers(messages: Iterable[JSONObject]) -> list[JSONObject]:
    """Join what belongs to one answer: texts, which some clients return before the calls that follow them."""
    answers: list[JSONObject] = []
    parts: list[JSONObject] = []
    for message in messages:
        if message.get("role") != "assistant":
            continue
        parts.append(message)
        if message.get("tool_calls"):
            answers.append(_join_parts(parts))
            parts = []
    return [*answers, _join_parts(parts)] if parts else answers


def _join_parts(parts: Sequence[JSONObject]) -> JSONObject:
    if len(parts) == 1:
        return parts[0]
    return {**parts[-1], "content": "\n".join(filter(None, map(message_text, parts))) or None}


def _result(tool: RecordedStep) -> JSONObject:
    content = tool.error if tool.output is None else result_text(tool.output)
    return {"role": "tool", "content": content, "tool_call_id": tool.call_id}
