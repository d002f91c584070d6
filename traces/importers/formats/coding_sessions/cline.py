"""Cline and its forks, such as Roo Code: the two files of a task, alone or together, and output of `cline --json`.

`api_conversation_history.json` has the messages of the model. Before models had calls of tools, Cline read them from
tags in the text of an answer. `ui_messages.json` has what was shown: requests with their tokens, costs and failures.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import content_blocks
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.coding_sessions import cline_screen
from traces.importers.formats.coding_sessions.cline_screen import (
    REQUEST,
    event_kind,
    is_event,
    is_screen,
    model_facts,
    request_usage,
)

FORMAT: Final = "cline"
_TOOLS: Final = (
    "execute_command|read_file|write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace|search_files"
    "|list_files|list_code_definition_names|codebase_search|browser_action|use_mcp_tool|access_mcp_resource|web_fetch"
    "|ask_followup_question|attempt_completion|plan_mode_respond|new_task|switch_mode|update_todo_list|new_rule"
)
# The text before it has no other tag of a tool, so that the search is linear.
_CALL: Final = re.compile(rf"<({_TOOLS})>((?:(?!<(?:{_TOOLS})>).)*?)</\1>", re.S)
_TAG: Final = re.compile(r"<(\w+)>")
# Of one call: each tag without an end takes a look through the rest of its text.
_MOST_TAGS: Final = 100
_RESULT: Final = re.compile(r"\[[a-z_]+(?: for .*?)?\] Result:\n?", re.S)
# What Cline adds to a conversation begins with one of these.
_ADDITIONS: Final = ("<environment_details>", "[ERROR]", "[TASK RESUMPTION]", "# task_progress", "[NOTE]")
_FEEDBACK: Final = ("<feedback>", "<user_message>", "<answer>")
_MARKS: Final = ("<task>", "<environment_details>", "<user_message>")


@dataclass(kw_only=True)
class _Task:
    history: list[JSONObject] = field(default_factory=list)
    screen: list[JSONObject] = field(default_factory=list)
    # Which the output of the command line states in its first line.
    id: str = ""


def is_task(value: JSONValue) -> bool:
    """Return True if `value` is one of the files of a task."""
    return is_screen(value) or _is_history(value) or is_event(as_object(value))


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per task: a folder, or a file that no folder is known of."""
    tasks: dict[str, _Task] = {}
    for source in sources:
        try:
            folder = str(PurePosixPath(source.name).parent)
            if source.is_lines:
                tasks[source.name] = _output(source)
                continue
            value = source.value
            task = tasks.setdefault(source.name if folder == "." else folder, _Task())
            (task.screen if is_screen(value) else task.history).extend(as_objects(value))
        except BadFile as problem:
            source.problems.append(problem)
    for name, task in tasks.items():
        try:
            yield _run(name, task)
        except BadFile as problem:
            sources[-1].problems.append(problem)


def _output(source: Source) -> _Task:
    """Return the task of the lines that `cline --json` prints."""
    lines = [as_object(record.value) for record in source.records()]
    id = next((id for line in lines if (id := as_text(line.get("taskId")))), "")
    # An event that changes is printed again.
    events = {(as_text(line["ts"]), event_kind(line)): line for line in lines if is_event(line)}
    return _Task(screen=[*events.values()], id=id)


def _is_history(value: JSONValue) -> bool:
    messages = as_objects(value) if isinstance(value, list) else []
    texts = [text for message in messages[:2] for text in _texts(message)]
    return bool(messages) and messages[0].get("role") == "user" and any(text.startswith(_MARKS) for text in texts)


def _texts(message: JSONObject) -> list[str]:
    blocks = as_objects(content_blocks(message.get("content")))
    return [as_text(block.get("text")).lstrip() for block in blocks if block.get("type") == "text"]


def _run(name: str, task: _Task) -> RecordedRun:
    entries = (
        list(_entries(task.history, task.screen)) if task.history else list(cline_screen.read_entries(task.screen))
    )
    folder = PurePosixPath(name).name
    first = as_object(next(iter(task.history or task.screen), {}))
    is_identified = folder.isdecimal() or bool(re.fullmatch(r"[0-9a-f-]{36}", folder))
    failures: list[JSONValue] = [
        note for event in task.screen if event_kind(event) == "error" and (note := event.get("text"))
    ]
    return build_run(
        RunFacts(
            external_id=task.id or (folder if is_identified else f"{FORMAT}-{content_id([first], name)}"),
            app=FORMAT,
            format=FORMAT,
            metadata={"errors": failures},
        ),
        transcripts.build_steps(entries, TranscriptSettings(agent=FORMAT)),
        location=name,
    )


def _entries(history: list[JSONObject], screen: list[JSONObject]) -> Iterator[TranscriptMessage]:
    """Yield the messages of the model; the requests on the screen state the tokens of its answers, if all are there."""
    requests = [event for event in screen if event_kind(event) == REQUEST and not request_usage(event).get("error")]
    answers = sum(message.get("role") == "assistant" for message in history)
    usages = iter(requests if len(requests) == answers else [])
    for index, message in enumerate(history):
        location = f"/{index}"
        if message.get("role") == "assistant":
            following = history[index + 1] if index + 1 < len(history) else {}
            usage = request_usage(next(usages, {}))
            actions = tuple(_actions("\n".join(_texts(message)), following))
            yield TranscriptMessage(value={**_facts(message), **usage}, location=location, actions=actions)
        else:
            yield from _request(message, location, is_first=index == 0)


def _facts(message: JSONObject) -> JSONObject:
    """Return a message with the model and the tokens that newer versions write."""
    model, metrics = as_object(message.get("modelInfo")), as_object(message.get("metrics"))
    tokens = as_object(metrics.get("tokens"))
    usage: JSONObject = {
        "input_tokens": tokens.get("prompt"),
        "output_tokens": tokens.get("completion"),
        "cached_tokens": tokens.get("cached"),
    }
    facts: JSONObject = {
        **model_facts(model),
        "usage": {name: count for name, count in usage.items() if count},
        "cost": metrics.get("cost"),
    }
    rest = {name: item for name, item in message.items() if name not in ("modelInfo", "metrics")}
    return {**rest, **{name: item for name, item in facts.items() if item not in (None, "", {})}}


def _request(message: JSONObject, location: str, *, is_first: bool) -> Iterator[TranscriptMessage]:
    """Yield results of calls, what Cline added, and what the user wrote, in the order in which the model read them."""
    blocks = content_blocks(message.get("content"))
    results = [block for block in blocks if as_object(block).get("type") == "tool_result"]
    rest = [block for block in blocks if as_object(block).get("type") != "tool_result"]
    facts = {name: item for name, item in message.items() if name != "content"}
    if results:
        yield TranscriptMessage(value={**facts, "content": results}, location=location)
    if rest:
        texts = _texts({"content": rest})
        is_addition = all(text.startswith(_ADDITIONS) or bool(_RESULT.match(text)) or not text for text in texts[:1])
        is_injected = not is_first and is_addition and not any(mark in text for text in texts for mark in _FEEDBACK)
        yield TranscriptMessage(value={**facts, "content": rest}, location=location, is_injected=is_injected)


def _actions(text: str, following: JSONObject) -> Iterator[TextAction]:
    """Yield the calls in the text of an answer. Cline runs one of an answer, unless it says that it ran several."""
    texts = _texts(following)
    outputs = iter(_outputs(texts))
    for match in _CALL.finditer(text):
        output = next(outputs, None)
        arguments: JSONObject = dict(_arguments(match[2]))
        is_failed = output is not None and "<error>" in output
        status = StepStatus.PARTIAL if output is None else StepStatus.ERROR if is_failed else StepStatus.OK
        yield TextAction(
            name=match[1], arguments=arguments, output=output, status=status, error=as_text(output) if is_failed else ""
        )


def _arguments(text: str) -> Iterator[tuple[str, JSONValue]]:
    position = 0
    for _ in range(_MOST_TAGS):
        if (tag := _TAG.search(text, position)) is None:
            return
        position = tag.end()
        if (end := text.find(f"</{tag[1]}>", position)) >= 0:
            yield tag[1], text[position:end].strip("\n")
            position = end


def _outputs(texts: list[str]) -> Iterator[str]:
    """Yield the results in the texts of a message: after their headings, or in the texts that follow these."""
    output: str | None = None
    for text in texts:
        if heading := _RESULT.match(text):
            if output is not None:
                yield output.strip()
            output = text[heading.end() :]
        elif output is not None and not text.startswith(_ADDITIONS):
            output = f"{output}\n{text}"
    if output is not None:
        yield output.strip()
