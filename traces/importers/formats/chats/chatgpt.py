"""ChatGPT's data export (`conversations.json`): every conversation is a tree of messages.

The branch that ends at `current_node` is the run of the conversation; every other branch on which the model answered
is a run of its own, which begins with the messages that they share.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import as_text
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files import archives
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, parse_embedded, require_object, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "chatgpt"
_MOST_BRANCHES: Final = 100  # each may repeat a long beginning
_KEPT: Final = ("title", "gizmo_id", "conversation_template_id", "is_archived", "plugin_ids", "update_time")
_MEMBER: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_FAILED: Final = frozenset({"system_error"})


def recognises(sample: Sample) -> float:
    """How sure it is that the file is an export of ChatGPT."""
    if sample.head.startswith(archives.MAGIC):
        return 1.0 if sample.complete and _exported(sample.head) else 0.0
    return 1.0 if any(_is_conversation(each) for each in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """The runs of every conversation of the file, or of the zip that was sent; a damaged one leaves the others."""
    if source.data.startswith(archives.MAGIC):
        yield from _of_archive(source)
        return
    for record in source.records():
        listed = record.value if isinstance(record.value, list) else [record.value]
        for at, value in enumerate(listed):
            where = f"{record.location}/{at}" if isinstance(record.value, list) else record.location
            try:
                yield from list(_runs(require_object(value, where), where))
            except BadFile as problem:
                source.problems.append(problem)


def _exported(data: bytes) -> list[str]:
    """The members of an export that hold conversations; a long history is spread over several."""
    try:
        names = archives.Archive(data).names
    except BadFile:
        return []
    return sorted(name for name in names if _MEMBER.fullmatch(name))


def _of_archive(source: Source) -> Iterator[RecordedRun]:
    archive = archives.Archive(source.data)
    for name in _exported(source.data):
        member = Source(name=name, data=archive.read(name))
        yield from parse(member)
        source.problems.extend(problem.prefix_location(name) for problem in member.problems)


def _is_conversation(body: JSONObject) -> bool:
    nodes = list(obj(body.get("mapping")).values())[:5]
    return bool(nodes) and all({"parent", "children"} & obj(node).keys() for node in nodes)


def _runs(body: JSONObject, where: str) -> Iterator[RecordedRun]:
    nodes = {key: obj(node) for key, node in require_object(body.get("mapping"), f"{where}/mapping").items()}
    parents = {text(node.get("parent")) for node in nodes.values()}
    leaves = [key for key in nodes if key not in parents]
    current = text(body.get("current_node"))
    main = _path(nodes, current if current in nodes else (leaves[-1] if leaves else next(iter(nodes), "")))
    conversation = text(first(body, "conversation_id", "id")) or f"{FORMAT}-{content_id(body, where)}"
    others = [path for leaf in leaves if leaf not in main and (path := _path(nodes, leaf))]
    left = [path for path in others if any(_role(nodes[key]) == "assistant" for key in path[_shared(path, main) :])]
    yield _run(body, nodes, main, conversation, {"other_branches": len(left) or None}, where)
    for path in left[:_MOST_BRANCHES]:
        shared = _shared(path, main)
        facts: JSONObject = {"left_branch_of": conversation, "shared_messages": shared}
        yield _run(body, nodes, path, f"{conversation}/{path[shared]}", facts, where)


def _path(nodes: dict[str, JSONObject], leaf: str) -> list[str]:
    """The nodes from the root to a leaf."""
    path: dict[str, None] = {}
    while leaf in nodes and leaf not in path:
        path[leaf] = None
        leaf = text(nodes[leaf].get("parent"))
    return [*reversed(path)]


def _shared(path: Sequence[str], main: Sequence[str]) -> int:
    both = zip(path, main, strict=False)
    return next((at for at, (one, other) in enumerate(both) if one != other), min(len(path), len(main) - 1))


def _role(node: JSONObject) -> str:
    return text(obj(obj(node.get("message")).get("author")).get("role"))


def _run(
    body: JSONObject, nodes: dict[str, JSONObject], path: list[str], external_id: str, facts: JSONObject, where: str
) -> RecordedRun:
    model = text(body.get("default_model_slug"))
    said = _merged(
        each for key in path for each in _said(obj(nodes[key].get("message")), f"{where}/mapping/{key}/message")
    )
    metadata: JSONObject = {key: body[key] for key in _KEPT if key in body}
    return build_run(
        RunFacts(
            external_id=external_id,
            app=FORMAT,
            format=FORMAT,
            name=text(body.get("title")),
            metadata={**metadata, **facts},
        ),
        transcripts.build_steps(
            said, TranscriptSettings(model=model, provider=normalize_provider("openai"), agent=FORMAT)
        ),
        location=where,
    )


def _merged(messages: Iterable[TranscriptMessage]) -> list[TranscriptMessage]:
    """What the assistant said in several messages, with no result between them, was one answer."""
    merged: list[TranscriptMessage] = []
    for each in messages:
        value, before = obj(each.value), obj(merged[-1].value) if merged else {}
        if value.get("role") == before.get("role") == "assistant":
            for name in ("content", "tool_calls"):
                before[name] = [*items(before.get(name)), *items(value.pop(name, None))]
            before |= value
        else:
            merged.append(each)
    return merged


def _said(message: JSONObject, where: str) -> Iterator[TranscriptMessage]:
    """A node's message; roots and hidden instructions without words are none."""
    author = obj(message.get("author"))
    role = text(author.get("role"))
    content = _content(obj(message.get("content")))
    if not role or not content:
        return
    metadata = obj(message.get("metadata"))
    value: JSONObject = {"role": role, "content": content, "ts": message.get("create_time")}
    recipient = text(message.get("recipient")) or "all"
    if role == "assistant":
        value |= {
            key: item
            for key, item in (("model", metadata.get("model_slug")), ("message_id", message.get("id")))
            if item
        }
        value |= {"finish_details": metadata["finish_details"]} if metadata.get("finish_details") else {}
        if recipient != "all":
            words = "\n".join(text(obj(block).get("text")) for block in content)
            value |= {"content": [], "tool_calls": [_call(recipient, words)]}
    elif role == "tool":
        failed = text(obj(message.get("content")).get("content_type")) in _FAILED
        value |= {"content": _plain(content), **({"is_error": True} if failed else {})}
    hidden = metadata.get("is_visually_hidden_from_conversation") is True
    aside = role == "user" and (hidden or metadata.get("is_user_system_message") is True)
    yield TranscriptMessage(location=where, value=value, is_injected=aside)


def _call(recipient: str, words: str) -> JSONValue:
    """A message to a tool is a call of it; what it holds is code, or JSON."""
    arguments = parse_embedded(words)
    return {"id": "", "name": recipient, "arguments": arguments if isinstance(arguments, dict) else {"input": words}}


def _content(content: JSONObject) -> list[JSONValue]:
    """The words of a message in blocks."""
    match text(content.get("content_type")):
        case "thoughts":
            thoughts = [obj(each) for each in items(content.get("thoughts"))]
            return [{"type": "thinking", "thinking": text(first(each, "content", "summary"))} for each in thoughts]
        case "reasoning_recap":
            return []  # how long it thought, as the page shows it
        case "model_editable_context" | "user_editable_context":
            words = [text(content.get(name)) for name in ("user_profile", "user_instructions", "model_set_context")]
            return [{"type": "text", "text": each} for each in words if each.strip()]
    if "parts" in content:
        return [block for part in items(content["parts"]) for block in _block(part)]
    said = first(content, "text", "result", "content", "summary")
    return [{"type": "text", "text": said if isinstance(said, str) else as_text(said)}] if said else []


def _block(part: JSONValue) -> list[JSONValue]:
    if isinstance(part, str):
        return [{"type": "text", "text": part}] if part.strip() else []
    if text(obj(part).get("content_type")) == "audio_transcription":
        return [{"type": "text", "text": obj(part).get("text")}]
    return [part] if isinstance(part, dict) else []


def _plain(content: list[JSONValue]) -> JSONValue:
    """A result that is text alone, as a text."""
    blocks = [obj(block) for block in content]
    if all(block.get("type") == "text" for block in blocks):
        return "\n".join(text(block.get("text")) for block in blocks)
    return content
