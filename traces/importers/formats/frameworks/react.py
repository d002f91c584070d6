"""Logs of ReAct agents: steps of a thought, an action and what was observed, under any of their usual names.

    {"question": …, "trajectory": [{"thought": …, "action": "search[poems]", "observation": …}], "success": true}

Also steps as lines or as a list, LangChain's `intermediate_steps`, trajectories of DSPy (`tool_name_0`), and texts:

    {"scratchpad": "Thought 1: …\\nAction 1: search[poems]\\nObservation 1: …", …}
"""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, omit, other_members, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "react"
_LISTS: Final = (
    *("trajectory", "steps", "intermediate_steps", "history", "trace"),
    *("log", "logs", "react_steps", "scratchpad"),
)
_TASKS: Final = (
    "task",
    "question",
    "query",
    "instruction",
    "goal",
    "problem",
    "task_description",
    "intent",
    "input",
    "prompt",
)
_IDS: Final = ("task_id", "instance_id", "question_id", "episode_id", "run_id", "uid", "id")
# `answer` may be the expected one.
_ANSWERS: Final = ("final_answer", "prediction", "predicted_answer", "model_answer", "output", "response")
# Beside one of these, and in DSPy, it is that of the agent.
_EXPECTED: Final = (
    "ground_truth",
    "expected",
    "expected_answer",
    "true_answer",
    "gt_answer",
    "gold_answer",
    "reference",
)
_THOUGHTS: Final = ("thought", "reasoning", "thinking", "rationale")
_ACTIONS: Final = ("tool", "tool_name", "action")
_ARGUMENTS: Final = (
    "action_input",
    "tool_input",
    "tool_args",
    "action_args",
    "arguments",
    "args",
    "input",
    "parameters",
)
_OBSERVATIONS: Final = ("observation", "tool_output", "tool_result", "obs")
_STEP_FIELDS: Final = frozenset({*_THOUGHTS, *_ACTIONS, *_ARGUMENTS, *_OBSERVATIONS, "final_answer"})
# What a transcript reads from an answer.
_ANSWER_FIELDS: Final = ("usage", "model", "cost", "timestamp")
_NAMES: Final = ("name", "tool", "tool_name", "function", "action", "action_type", "type")
# Such as `search[poems]` and `click("12")`.
_CALL: Final = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(?:\[(.*)\]|\((.*)\))\s*", re.S)
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]*")
# A part of a step in a text.
_PART: Final = re.compile(r"^[ \t]*(Thought|Action Input|Action|Observation)(?:[ \t]+\d+)?[ \t]*:", re.M | re.I)
_MEMBER: Final = re.compile(r"(thought|tool_name|tool_args|observation)_(\d{1,4})")


def sniff(sample: Sample) -> float:
    """Return the confidence that the file has steps of an agent, lower than that of every format with a name."""
    return 0.5 if any(map(_is_log, sample.values)) else 0.0


def lines_are_runs(sample: Sample) -> bool:
    """Return True if every line is a run, not a step."""
    return sample.is_lines and not any(_is_step(_step(value)) for value in sample.values)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per log; steps without a log around them are one run."""
    steps: list[JSONValue] = []
    for body, location in source.entries():
        if name := _list_name(body):
            yield _run(body, name, location)
        else:
            steps.append(body)
    if steps:
        yield _run({"steps": steps}, "steps", "")


def _is_log(value: JSONValue) -> bool:
    values = value[:2] if isinstance(value, list) else [value]
    return any(_list_name(as_object(item)) or _is_step(_step(item)) for item in values)


def _list_name(body: JSONObject) -> str:
    """Return the member with the steps; empty if there is none."""
    return next((name for name in _LISTS if any(map(_is_step, _steps(body.get(name))[:2]))), "")


def _is_step(step: JSONObject) -> bool:
    # Actions of other environments are numbers.
    is_action = isinstance(first_member(step, *_ACTIONS), str | dict)
    return is_action and not step.keys().isdisjoint({*_OBSERVATIONS, "thought"}) and "role" not in step


def _steps(value: JSONValue) -> list[JSONObject]:
    if isinstance(value, dict):
        return _dspy_steps(value)
    if isinstance(value, str):
        return _text_steps(value)
    return [_step(item) for item in as_list(value)]


def _step(value: JSONValue) -> JSONObject:
    """Return a step under the usual names: `Action Input` is `action_input`. LangChain pairs a call with its result."""
    if isinstance(value, list) and len(value) == 2 and "tool" in as_object(value[0]):
        call = as_object(value[0])
        return {**omit(call, "log", "type"), "thought": call.get("log"), "observation": value[1]}
    return {name.strip().lower().replace(" ", "_"): item for name, item in as_object(value).items()}


def _dspy_steps(body: JSONObject) -> list[JSONObject]:
    steps: dict[int, JSONObject] = {}
    for name, value in body.items():
        if match := _MEMBER.fullmatch(name):
            steps.setdefault(int(match[2]), {})[match[1]] = value
    return [steps[number] for number in sorted(steps)]


def _text_steps(text: str) -> list[JSONObject]:
    """Return the steps in a text: a thought, or an action without one, begins the next."""
    opening, *parts = _PART.split(text)
    steps: list[JSONObject] = []
    for label, content in zip(parts[::2], parts[1::2], strict=True):
        name = label.lower().replace(" ", "_")
        if not steps or name in steps[-1] or (name == "thought" and steps[-1]) or "observation" in steps[-1]:
            steps.append({})
        steps[-1][name] = content.strip()
    if steps and opening.strip():
        steps[0]["opening"] = opening.strip()
    return steps


def _run(body: JSONObject, name: str, location: str) -> RecordedRun:
    steps = _with_results(_steps(body[name]))
    task, id = first_member(body, *_TASKS), text_or_json(first_member(body, *_IDS) or "")
    model = as_text(first_member(body, "model", "model_name", "llm"))
    entries = [
        entry for index, step in enumerate(steps) for entry in _entries(step, index, f"{location}/{name}/{index}")
    ]
    if opening := steps[0].get("opening"):
        entries.insert(
            0, TranscriptMessage(value={"role": "user", "content": opening}, location=location, is_injected=bool(task))
        )
    if task:
        request: JSONObject = {"role": "user", "content": task if isinstance(task, str) else text_or_json(task)}
        entries.insert(0, TranscriptMessage(value=request, location=location))
    settings = TranscriptSettings(
        model=model, provider=normalize_provider(None, model), system=body.get("system_prompt"), agent=FORMAT
    )
    return build_run(
        RunFacts(
            external_id=f"{id or FORMAT}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            tags=[f"task:{id}"] if id else [],
            metadata=omit(body, name, "system_prompt"),
            judgements=benchmark_scores.read_judgements(body),
        ),
        transcripts.replace_output(transcripts.build_steps(entries, settings), _answer(body, steps)),
        location=location,
    )


def _with_results(steps: list[JSONObject]) -> list[JSONObject]:
    """Give each step what its action led to: logs that name the observation first mean what the agent saw before."""
    names = [name for name in (steps or [{}])[0] if name in {*_OBSERVATIONS, *_ACTIONS}]
    if not names or names[0] not in _OBSERVATIONS:
        return steps
    observations = [first_member(step, *_OBSERVATIONS) for step in steps]
    rest = [omit(step, *_OBSERVATIONS) for step in steps]
    later = [*observations[1:], None]
    pairs: list[JSONObject] = [{**step, "observation": item} for step, item in zip(rest, later, strict=True)]
    return [{**pairs[0], "opening": observations[0]}, *pairs[1:]]


def _answer(body: JSONObject, steps: list[JSONObject]) -> str:
    """Return the answer that the log states, or that of the last action; `answer` may be the expected one."""
    is_own = not body.keys().isdisjoint(_EXPECTED) or any(
        _MEMBER.fullmatch(key) for key in as_object(body.get(_LISTS[0]))
    )
    names = (*_ANSWERS, "answer") if is_own else _ANSWERS
    if text := next((text for key in names if (text := as_text(body.get(key)))), ""):
        return text
    last = steps[-1] if steps else {}
    final = as_text(last.get("final_answer"))
    tool, arguments = _call(last)
    is_final = tool.lower().replace("_", "") in ("finish", "finalanswer", "answer", "submit")
    values = list(as_object(arguments).values()) if is_final else []
    return final or (as_text(values[0]) if len(values) == 1 else "")


def _entries(step: JSONObject, index: int, location: str) -> Iterator[TranscriptMessage]:
    """Yield the answer of a step, with its call, and the result."""
    tool, arguments = _call(step)
    call: JSONObject = {"id": f"step-{index + 1}", "name": tool, "arguments": arguments}
    facts = {name: step[name] for name in _ANSWER_FIELDS if step.get(name) and _is_fact(name, step[name])}
    details = other_members(step, {*_STEP_FIELDS, *facts, "error", "opening"})
    value: JSONObject = {
        "role": "assistant",
        "content": "\n\n".join(text for name in (*_THOUGHTS, "final_answer") if (text := as_text(step.get(name)))),
        **({"tool_calls": [call]} if tool else {}),
        **facts,
        **({"details": details} if details else {}),
    }
    yield TranscriptMessage(value=value, location=location)
    observation = next((item for name in _OBSERVATIONS if (item := step.get(name)) is not None), None)
    error = as_text(step.get("error"))
    if observation is not None or error:
        result: JSONObject = {"content": error if observation is None else result_text(observation)}
        failure: JSONObject = {"error": error} if error else {}
        role: JSONObject = {"role": "tool", "tool_call_id": call["id"]} if tool else {"role": "user"}
        yield TranscriptMessage(value={**role, **result, **failure}, location=location, is_injected=not tool)


def _is_fact(name: str, value: JSONValue) -> bool:
    """Return whether a step states a fact as an answer does; some write a time without its day."""
    if name != "timestamp":
        return True
    try:
        return parse_time(value, "") is not None
    except BadFile:
        return False


def _call(step: JSONObject) -> tuple[str, JSONValue]:
    """Return the name and the arguments of a step's action; an empty name if it has none."""
    action = parse_embedded(first_member(step, *_ACTIONS))
    arguments = parse_embedded(first_member(step, *_ARGUMENTS))
    if isinstance(action, dict):
        return _call_of_object(action)
    text = as_text(action).strip()
    if arguments is None and "action" in step and text != as_text(step["action"]).strip():
        arguments = {"action": step["action"]}
    if arguments is not None:
        return text, arguments if isinstance(arguments, dict) else {"input": arguments}
    if match := _CALL.fullmatch(text):
        inner = match[2] if match[2] is not None else match[3]
        return match[1], {"input": inner} if inner else {}
    return (text, {}) if _NAME.fullmatch(text) else ("action" if text else "", {"input": text})


def _call_of_object(action: JSONObject) -> tuple[str, JSONValue]:
    key = next((name for name in _NAMES if as_text(action.get(name))), "")
    arguments = first_member(action, *_ARGUMENTS, "kwargs")
    rest = omit(action, key) if arguments is None else parse_embedded(arguments)
    return as_text(action.get(key)) or "action", rest if isinstance(rest, dict) else {"input": rest}
