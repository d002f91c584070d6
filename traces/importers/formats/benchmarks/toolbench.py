"""ToolBench: answers of its agents, with the messages of each request on the way to the final answer."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import normalize_tools
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
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
    messages = _messages(answer)
    settings = TranscriptSettings(tools=normalize_tools(answer.get("function") or []), agent=FORMAT)
    entries = [
        TranscriptMessage(value=message, location=f"{location}/answer_generation/train_messages/{index}")
        for index, message in enumerate(messages)
    ]
    steps = transcripts.replace_output(transcripts.build_steps(entries, settings), as_text(answer.get("final_answer")))
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


def _first_request(messages: list[JSONValue]) -> str:
    """Return the first request of the user."""
    texts = (
        as_text(as_object(message).get("content")) for message in messages if as_object(message).get("role") == "user"
    )
    return next((text.strip() for text in texts if text.strip()), FORMAT)
