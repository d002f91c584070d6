"""mini-swe-agent trajectories: messages whose `extra` has the program's actions and measurements.

The first version reads commands from code blocks and reports results as user messages. Later versions list the
commands in `extra.actions`, call a tool, or store the raw answers of the Responses API.
"""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, list_or_single, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common.messages import message_text
from traces.importers.common.model_calls import normalize_provider, parse_cost
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import parse_embedded, require_list
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents.swe_agent import Trajectory, build_trajectory_run

FORMAT: Final = "mini-swe-agent"
_COMMAND: Final = re.compile(r"```(?:bash|sh|mswea_bash_command)(?:[^\S\n]*+\n)++(.*?)\n?```", re.S)
_RETURN_CODE: Final = re.compile(r"<returncode>(-?\d+)</returncode>")
_INTERRUPTION: Final = "UserInterruption"
_REJECTION: Final = "FormatError"
_MAPPED_FIELDS: Final = frozenset(
    {"actions", "response", "cost", "timestamp", "raw_output", "returncode", "tool_calls"}
)


def sniff(sample: Sample) -> float:
    """Return the confidence that the file contains mini-swe-agent trajectories."""
    return 1.0 if any(_is_mini(body) for body in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trajectory of the file."""
    for record in source.records():
        for value in list_or_single(record.value):
            yield _run(as_object(value), record.location)


def _is_mini(body: JSONObject) -> bool:
    if as_text(body.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    info = as_object(body.get("info"))
    return "messages" in body and ("mini_version" in info or {"exit_status", "submission"} <= info.keys())


def _run(body: JSONObject, location: str) -> RecordedRun:
    info = as_object(body.get("info"))
    config = as_object(info.get("config"))
    model_config = as_object(config.get("model"))
    model = as_text(first_member(model_config, "model_name"))
    message_list = [as_object(message) for message in require_list(body.get("messages"), f"{location}/messages")]
    stats = as_object(info.get("model_stats"))
    end = _exit(message_list)
    recorded_messages = list(_recorded_messages(message_list, f"{location}/messages"))
    if any(as_object(as_object(message.get("extra")).get("response")).get("usage") for message in message_list):
        # Each answer has its usage: totals would count it twice.
        info = {**info, "model_stats": {}}
    return build_trajectory_run(
        Trajectory(
            messages=recorded_messages,
            setting=TranscriptSettings(
                model=model,
                provider=normalize_provider(None, model.rpartition("/")[2]),
                parameters=as_object(model_config.get("model_kwargs")),
                agent=FORMAT,
            ),
            instance=as_text(first_member(body, "instance_id")) or as_text(info.get("instance_id")),
            info=info,
            format=FORMAT,
            identity=body.get("messages"),
            metadata={
                "info": {**info, "model_stats": stats},
                "version": as_text(body.get("trajectory_format")),
                "exit": end,
            },
            error=as_text(end.get("exception_str")),
        ),
        location,
    )


def _exit(messages: list[JSONObject]) -> JSONObject:
    """Return the facts about the end of a run beside its status and submission, such as an exception."""
    last_message = messages[-1] if messages else {}
    extra = as_object(last_message.get("extra")) if last_message.get("role") == "exit" else {}
    return omit(extra, "exit_status", "submission")


def _recorded_messages(messages: list[JSONObject], location: str) -> Iterator[TranscriptMessage]:
    has_answer = False
    for index, message in enumerate(messages):
        message_location = f"{location}/{index}"
        if message.get("role") == "exit":
            # It repeats the exit status and the submission.
            continue
        if message.get("role") == "assistant" or message.get("object") == "response":
            has_answer = True
            yield _answer(message, messages[index + 1 : index + 1 + _most_results(message)], message_location)
        else:
            if _interruption(message) == _REJECTION and _has_answer(message):
                yield _rejected_answer(message, message_location)
            is_injected = message.get("role") == "user" and has_answer and _interruption(message) != _INTERRUPTION
            yield TranscriptMessage(value=_message_value(message), location=message_location, is_injected=is_injected)


def _most_results(message: JSONObject) -> int:
    return max(1, len(as_list(as_object(message.get("extra")).get("actions"))))


def _interruption(message: JSONObject) -> str:
    return as_text(as_object(message.get("extra")).get("interrupt_type"))


def _has_answer(message: JSONObject) -> bool:
    return not as_object(message.get("extra")).keys().isdisjoint({"model_response", "response", "cost"})


def _rejected_answer(message: JSONObject, location: str) -> TranscriptMessage:
    """Return an answer without a valid call as a failed call: later requests contain the complaint instead of it."""
    extra = as_object(message.get("extra"))
    usage = as_object(as_object(extra.get("response")).get("usage"))
    value: JSONObject = {
        "role": "assistant",
        "content": None,
        "error": message_text(message) or _REJECTION,
        "ts": extra.get("timestamp"),
        **({"usage": usage} if usage else {}),
        **({"cost": extra["cost"]} if parse_cost(extra.get("cost")) else {}),
        **{name: extra[name] for name in ("model_response", "response") if extra.get(name)},
    }
    return TranscriptMessage(value=value, location=location)


def _message_value(message: JSONObject) -> JSONObject:
    """Convert a message to the model; a failed command becomes a failed call."""
    extra = as_object(message.get("extra"))
    value: JSONObject = {"role": message.get("role"), "content": message.get("content"), "ts": extra.get("timestamp")}
    if message.get("type") == "function_call_output":
        value |= {"role": "tool", "tool_call_id": message.get("call_id"), "content": message.get("output")}
    elif message.get("tool_call_id"):
        value["tool_call_id"] = message["tool_call_id"]
    return {**value, **({"error": error} if (error := _error(message)) and value["role"] == "tool" else {})}


def _answer(message: JSONObject, results: list[JSONObject], location: str) -> TranscriptMessage:
    extra = as_object(message.get("extra"))
    response = as_object(extra.get("response")) or message
    choice = as_object(next(iter(as_list(response.get("choices"))), None))
    other_fields = {
        key: item for key, item in extra.items() if key not in _MAPPED_FIELDS and item not in (None, "", [], {})
    }
    value: JSONObject = {
        "role": "assistant",
        "content": _answer_content(message),
        "ts": extra.get("timestamp"),
        **{name: message[name] for name in ("tool_calls", "function_call") if message.get(name)},
        **({"usage": usage} if (usage := as_object(response.get("usage"))) else {}),
        **({"cost": extra["cost"]} if parse_cost(extra.get("cost")) else {}),
        **({"finish_reason": reason} if (reason := as_text(choice.get("finish_reason"))) else {}),
        **({"model": response["model"]} if as_text(response.get("model")) else {}),
        **other_fields,
    }
    calls = message.get("tool_calls") or any("call_id" in as_object(item) for item in as_list(message.get("output")))
    return TranscriptMessage(value=value, location=location, actions=() if calls else tuple(_actions(message, results)))


def _answer_content(message: JSONObject) -> JSONValue:
    """Return the content of an answer; in the Responses API it is spread over the output items."""
    if has_list(message, "output"):
        return [block for item in as_list(message["output"]) for block in _blocks(as_object(item))]
    thought = as_text(message.get("reasoning_content"))
    content = message.get("content")
    if not thought:
        return content
    text_blocks: list[JSONValue] = [{"type": "text", "text": content}] if content else []
    return [{"type": "thinking", "thinking": thought}, *text_blocks]


def _blocks(item: JSONObject) -> list[JSONValue]:
    if item.get("type") == "message":
        return as_list(item.get("content"))
    if item.get("type") == "reasoning":
        thought = "\n".join(
            as_text(as_object(part).get("text")) for part in as_list(first_member(item, "summary", "content"))
        )
        return [{"type": "thinking", "thinking": thought}] if thought else []
    return [item]


def _actions(message: JSONObject, results: list[JSONObject]) -> Iterator[TextAction]:
    """Yield the commands in an answer; the first version runs none if there are several."""
    actions = [as_object(action) for action in as_list(as_object(message.get("extra")).get("actions"))]
    commands = [as_text(first_member(action, "command", "action")) for action in actions]
    if not actions and len(blocks := _COMMAND.findall(message_text(message))) == 1:
        commands = [blocks[0].strip()]
    results = [result for result in results if as_text(result.get("role")) in {"user", "tool"}]
    for index, command in enumerate(commands):
        result = results[min(index, len(results) - 1)] if results else {}
        extra = as_object(result.get("extra"))
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
    extra = as_object(message.get("extra"))
    if exception := as_text(extra.get("exception_info")):
        return exception
    code = as_text(extra.get("returncode"))
    if not code and (match := _RETURN_CODE.search(message_text(message))):
        code = match[1]
    return "" if code in {"", "0"} else f"exit code {code}"
