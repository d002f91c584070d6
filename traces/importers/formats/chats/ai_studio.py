"""Google AI Studio: saved prompts, whose chunks are the messages of a chat.

Thoughts, code that the model ran and its texts are chunks of their own, which together are an answer.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_integer, as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_parameters
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "ai-studio"
_SETTINGS: Final = (
    "temperature",
    "topP",
    "topK",
    "maxOutputTokens",
    "stopSequences",
    "thinkingBudget",
    "thinkingLevel",
)
# All other members of a chunk are its content: links to files of Drive, images, code and what it printed.
_FACTS: Final = (
    *("text", "parts", "role", "isThought", "tokenCount", "finishReason", "createTime", "errorMessage"),
    *("thinkingBudget", "thoughtSignatures", "isEdited", "branchParent", "branchChildren"),
)


def is_prompt(value: JSONValue) -> bool:
    """Return True if `value` is a saved prompt."""
    return has_list(as_object(value).get("chunkedPrompt"), "chunks")


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per prompt."""
    for body, location in source.entries():
        yield _run(body, location, source.name)


def _run(body: JSONObject, location: str, name: str) -> RecordedRun:
    chunks = as_objects(as_object(body.get("chunkedPrompt")).get("chunks"))
    settings = as_object(body.get("runSettings"))
    instruction = as_object(body.get("systemInstruction"))
    setting = TranscriptSettings(
        model=as_text(settings.get("model")).removeprefix("models/"),
        provider="google",
        parameters=normalize_parameters({name: settings[name] for name in _SETTINGS if name in settings}),
        system=first_member(instruction, "text", "parts"),
    )
    messages = [
        TranscriptMessage(value=message, location=f"{location}/chunkedPrompt/chunks") for message in _messages(chunks)
    ]
    # The file has no id. A chat that goes on has the same beginning.
    beginning: list[JSONValue] = [*chunks[:2]]
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id(beginning, location)}",
            app=FORMAT,
            format=FORMAT,
            name=name,
            title=as_text(body.get("title")),
            metadata={
                **omit(body, "chunkedPrompt", "runSettings", "systemInstruction"),
                "run_settings": omit(settings, "model", *_SETTINGS),
            },
        ),
        transcripts.build_steps(messages, setting),
        location=location or "/",
    )


def _messages(chunks: list[JSONObject]) -> Iterator[JSONObject]:
    answer: list[JSONObject] = []
    for chunk in chunks:
        if chunk.get("role") == "model":
            answer.append(chunk)
            continue
        yield from _answer(answer)
        answer = []
        yield {"role": "user", "content": _blocks(chunk), "ts": chunk.get("createTime")}
    yield from _answer(answer)


def _answer(chunks: list[JSONObject]) -> Iterator[JSONObject]:
    """Yield the message of consecutive chunks of the model."""
    if not chunks:
        return
    tokens = sum(as_integer(chunk.get("tokenCount")) or 0 for chunk in chunks)
    facts: JSONObject = {
        "usage": {"output_tokens": tokens} if tokens else None,
        "finish_reason": first_member(chunks[-1], "finishReason"),
        "error": first_member(chunks[-1], "errorMessage"),
        "ts": first_member(chunks[-1], "createTime"),
    }
    content = [block for chunk in chunks for block in _blocks(chunk)]
    yield {
        "role": "assistant",
        "content": content or None,
        **{name: item for name, item in facts.items() if item},
    }


def _blocks(chunk: JSONObject) -> list[JSONValue]:
    """Return the text of a chunk, or else the texts of its parts, and everything else in it."""
    text = as_text(chunk.get("text")) or "".join(as_text(part.get("text")) for part in as_objects(chunk.get("parts")))
    kind, name = ("thinking", "thinking") if chunk.get("isThought") is True else ("text", "text")
    blocks: list[JSONValue] = [{"type": kind, name: text}] if text else []
    return blocks + [{"type": key, key: item} for key, item in omit(chunk, *_FACTS).items() if item]
