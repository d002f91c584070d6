"""mini-swe-agent trajectories: messages, with what the program did and measured in their `extra`.

The first version reads commands out of code blocks and reports results as user messages; later versions name the
commands in `extra.actions`, call a tool, or keep the answers of the Responses API as they came.
"""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common.messages import message_text
from traces.importers.common.model_calls import normalize_provider, parse_cost
from traces.importers.common.times import parse_time
from traces.importers.common.transcripts import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import first, items, obj, parse_embedded, require_list, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents.swe_agent import Trajectory, run_of

FORMAT: Final = "mini-swe-agent"
_COMMAND: Final = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n?```", re.S)
_RETURN_CODE: Final = re.compile(r"<returncode>(-?\d+)</returncode>")
_INTERRUPTION: Final = "UserInterruption"
_MAPPED: Final = frozenset({"actions", "response", "cost", "timestamp", "raw_output", "returncode", "tool_calls"})


def recognises(sample: Sample) -> float:
    """How sure it is that the file holds trajectories of mini-swe-agent."""
    return 1.0 if any(_is_mini(each) for each in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each trajectory of the file."""
    for record in source.records():
        for value in record.value if isinstance(record.value, list) else [record.value]:
            yield _run(obj(value), record.location)


def _is_mini(body: JSONObject) -> bool:
    if text(body.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    info = obj(body.get("info"))
    return "messages" in body and ("mini_version" in info or {"exit_status", "submission"} <= info.keys())


def _run(body: JSONObject, where: str) -> RecordedRun:
    info = obj(body.get("info"))
    config = obj(info.get("config"))
    model_config = obj(config.get("model"))
    model = text(first(model_config, "model_name"))
    messages = [obj(each) for each in require_list(body.get("messages"), f"{where}/messages")]
    stats = obj(info.get("model_stats"))
    said = list(_said(messages, f"{where}/messages"))
    if any(obj(obj(message.get("extra")).get("response")).get("usage") for message in messages):
        # the answers say themselves what they cost
        info = {**info, "model_stats": {}}
    return run_of(
        Trajectory(
            said=said,
            setting=TranscriptSettings(
                model=model,
                provider=normalize_provider(None, model.rpartition("/")[2]),
                parameters=obj(model_config.get("model_kwargs")),
                agent=FORMAT,
            ),
            instance=text(first(body, "instance_id")) or text(info.get("instance_id")),
            info=info,
            format=FORMAT,
            identity=body.get("messages"),
            metadata={"info": {**info, "model_stats": stats}, "version": text(body.get("trajectory_format"))},
        ),
        where,
    )


def _said(messages: list[JSONObject], where: str) -> Iterator[TranscriptMessage]:
    answered = False
    for at, message in enumerate(messages):
        place = f"{where}/{at}"
        if message.get("role") == "exit":
            continue  # repeats the exit status and the submission
        if message.get("role") == "assistant" or message.get("object") == "response":
            answered = True
            yield _answer(message, messages[at + 1 : at + 1 + _most_results(message)], place)
        else:
            by_program = message.get("role") == "user" and answered and _interruption(message) != _INTERRUPTION
            yield TranscriptMessage(value=_told(message), location=place, is_injected=by_program)


def _most_results(message: JSONObject) -> int:
    return max(1, len(items(obj(message.get("extra")).get("actions"))))


def _interruption(message: JSONObject) -> str:
    return text(obj(message.get("extra")).get("interrupt_type"))


def _told(message: JSONObject) -> JSONObject:
    """A message to the model; a command that failed is a failed call."""
    extra = obj(message.get("extra"))
    value: JSONObject = {"role": message.get("role"), "content": message.get("content"), "ts": extra.get("timestamp")}
    if message.get("type") == "function_call_output":
        value |= {"role": "tool", "tool_call_id": message.get("call_id"), "content": message.get("output")}
    elif message.get("tool_call_id"):
        value["tool_call_id"] = message["tool_call_id"]
    return {**value, **({"error": error} if (error := _error(message)) and value["role"] == "tool" else {})}


def _answer(message: JSONObject, results: list[JSONObject], where: str) -> TranscriptMessage:
    extra = obj(message.get("extra"))
    response = obj(extra.get("response")) or message
    rest = {key: item for key, item in extra.items() if key not in _MAPPED and item not in (None, "", [], {})}
    value: JSONObject = {
        "role": "assistant",
        "content": _spoken(message),
        "ts": extra.get("timestamp"),
        **{name: message[name] for name in ("tool_calls", "function_call") if message.get(name)},
        **({"usage": usage} if (usage := obj(response.get("usage"))) else {}),
        **({"cost": extra["cost"]} if parse_cost(extra.get("cost")) else {}),
        **({"model": response["model"]} if text(response.get("model")) else {}),
        **rest,
    }
    calls = message.get("tool_calls") or any("call_id" in obj(item) for item in items(message.get("output")))
    return TranscriptMessage(value=value, location=where, actions=() if calls else tuple(_actions(message, results)))


def _spoken(message: JSONObject) -> JSONValue:
    """What was said; an answer of the Responses API is a list of items, of which messages hold the text."""
    if isinstance(message.get("output"), list):
        return [block for item in items(message["output"]) for block in _blocks(obj(item))]
    thought = text(message.get("reasoning_content"))
    content = message.get("content")
    if not thought:
        return content
    spoken: list[JSONValue] = [{"type": "text", "text": content}] if content else []
    return [{"type": "thinking", "thinking": thought}, *spoken]


def _blocks(item: JSONObject) -> list[JSONValue]:
    if item.get("type") == "message":
        return items(item.get("content"))
    if item.get("type") == "reasoning":
        thought = "\n".join(text(obj(each).get("text")) for each in items(first(item, "summary", "content")))
        return [{"type": "thinking", "thinking": thought}] if thought else []
    return [item]


def _actions(message: JSONObject, results: list[JSONObject]) -> Iterator[TextAction]:
    """The commands in an answer; the older version runs the only one, and refuses answers with several."""
    named = [obj(each) for each in items(obj(message.get("extra")).get("actions"))]
    commands = [text(first(each, "command", "action")) for each in named]
    if not named and len(found := _COMMAND.findall(message_text(message))) == 1:
        commands = [found[0].strip()]
    results = [each for each in results if text(each.get("role")) in {"user", "tool"}]
    for at, command in enumerate(commands):
        result = results[min(at, len(results) - 1)] if results else {}
        extra = obj(result.get("extra"))
        error = _error(result)
        status = StepStatus.PARTIAL if not result else StepStatus.ERROR if error else StepStatus.OK
        output = extra.get("raw_output") if extra.get("raw_output") is not None else result.get("content")
        yield TextAction(
            name="bash",
            arguments={"command": command},
            output=parse_embedded(output),
            error=error,
            status=status,
            ended_at=parse_time(extra.get("timestamp"), "/extra/timestamp"),
            attributes={"returncode": extra["returncode"]} if "returncode" in extra else {},
        )


def _error(message: JSONObject) -> str:
    extra = obj(message.get("extra"))
    if exception := text(extra.get("exception_info")):
        return exception
    code = text(extra.get("returncode"))
    if not code and (found := _RETURN_CODE.search(message_text(message))):
        code = found[1]
    return "" if code in {"", "0"} else f"exit code {code}"
