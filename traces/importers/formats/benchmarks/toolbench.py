"""ToolBench: answers of its agents, with the messages of each request on the way to the final answer.

The messages of a search without an answer were not recorded: its run is the longest path of the search.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source

FORMAT: Final = "toolbench"


def is_answer(value: JSONValue) -> bool:
    """Return True if `value` is the answer to a query."""
    body = as_object(value)
    return "win" in body and has_object(body, "answer_generation")


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per answer."""
    for body, location in source.entries():
        yield _run(body, location)


def _run(body: JSONObject, location: str) -> RecordedRun:
    """Build the run of the path that gave the answer; the other attempts of the search stay in the metadata."""
    answer = as_object(body.get("answer_generation"))
    path = _path(body)
    messages = _with_last_result(_messages(answer) or list(_path_messages(path)), path)
    settings = TranscriptSettings(tools=normalize_tools(answer.get("function") or []), agent=FORMAT)
    entries = [
        TranscriptMessage(value=_result(message), location=f"{location}/answer_generation/train_messages/{index}")
        for index, message in enumerate(messages)
    ]
    steps = transcripts.replace_output(transcripts.build_steps(entries, settings), _final_answer(answer))
    facts = {name: item for name, item in answer.items() if name not in ("train_messages", "function")}
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            name=as_text(answer.get("query")) or _first_request(messages),
            metadata={**{name: item for name, item in body.items() if name != "answer_generation"}, **facts},
            judgements=[judgement("success", win)] if isinstance(win := body.get("win"), bool) else [],
        ),
        steps,
        location=location,
    )


def _messages(answer: JSONObject) -> list[JSONValue]:
    """Return the longest of the message lists: each request repeats those before it."""
    lists = [as_list(messages) for messages in as_list(answer.get("train_messages"))]
    if not lists and has_list(answer, "messages"):
        lists = [as_list(answer["messages"])]
    return max(lists, key=len, default=[])


def _final_answer(answer: JSONObject) -> str:
    """Return the text among the arguments of the call that gave the answer."""
    text = as_text(answer.get("final_answer"))
    return as_text(as_object(parse_embedded(text)).get("final_answer")) or text


def _path(body: JSONObject) -> list[JSONObject]:
    """Return the nodes on the way to the answer, or those of the longest attempt."""
    paths = [as_objects(path) for path in as_list(body.get("compare_candidates"))[:1]]
    attempts = [as_objects(attempt.get("chain")) for attempt in as_objects(body.get("trys"))]
    return max(paths or attempts, key=len, default=[]) or _deepest_path(
        as_object(as_object(body.get("tree")).get("tree"))
    )


def _deepest_path(node: JSONObject) -> list[JSONObject]:
    paths = map(_deepest_path, as_objects(node.get("children")))
    return [node, *max(paths, key=len, default=[])] if node else []


def _path_messages(path: list[JSONObject]) -> Iterator[JSONObject]:
    """Yield the calls of a path, whose thought, name and arguments are a node each, and their results."""
    texts: dict[str, str] = {}
    for node in path:
        texts[as_text(node.get("node_type"))] = as_text(node.get("description"))
        name = texts.get("Action")
        if name and "observation" in node:
            call: JSONObject = {"name": name, "arguments": texts.get("Action Input")}
            yield {"role": "assistant", "content": texts.get("Thought"), "function_call": call}
            yield {"role": "function", "name": name, "content": node["observation"]}
            texts = {}


def _with_last_result(messages: list[JSONValue], path: list[JSONObject]) -> list[JSONValue]:
    """Append what the last call returned, which no request had."""
    call = as_object(as_object(messages[-1]).get("function_call")) if messages else {}
    if not call or not path or "observation" not in path[-1]:
        return messages
    return [*messages, {"role": "function", "name": call.get("name"), "content": path[-1]["observation"]}]


def _result(message: JSONValue) -> JSONValue:
    """Mark a result that states an error."""
    body = as_object(message)
    error = (
        as_text(as_object(parse_embedded(body.get("content"))).get("error")) if body.get("role") == "function" else ""
    )
    return {**body, "error": error} if error else message


def _first_request(messages: list[JSONValue]) -> str:
    """Return the first request of the user."""
    texts = (
        as_text(as_object(message).get("content")) for message in messages if as_object(message).get("role") == "user"
    )
    return next((text.strip() for text in texts if text.strip()), "")
