"""ChatGPT's data export (`conversations.json`): every conversation is a tree of messages.

The branch that ends at `current_node` is the run of the conversation. Every other branch with a model answer is a
separate run that starts with the shared messages.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, list_or_single, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files import archives
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, require_object
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.chats.message_branches import MOST_BRANCHES, current_path, other_branches

FORMAT: Final = "chatgpt"
# Of the metadata of a message: files of users, and where an answer comes from.
_FACTS: Final = ("attachments", "citations", "content_references", "search_result_groups", "finish_details")
# Of a conversation, what its steps contain or its identity is.
_NOT_METADATA: Final = ("mapping", "current_node", "conversation_id", "id", "create_time", "default_model_slug")
_MEMBER: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
# Of a conversation that has no title so far.
_NO_TITLES: Final = frozenset({"New chat", "Untitled"})
_FAILED: Final = frozenset({"system_error"})
_FEEDBACK: Final = re.compile(r"(?:.*/)?message_feedback\.json")
_RATINGS: Final = {"up": JudgementKind.PASS, "down": JudgementKind.FAIL}


def sniff(sample: Sample) -> float:
    """Return the confidence that the file is a ChatGPT export."""
    if sample.head.startswith(archives.MAGIC):
        return 1.0 if sample.is_complete and _conversation_files(sample.head) else 0.0
    return 1.0 if any(_is_conversation(value) for value in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the runs of every conversation in the file or zip; skip damaged conversations."""
    if source.data.startswith(archives.MAGIC):
        yield from _archive_runs(source)
        return
    for record in source.records():
        conversations = list_or_single(record.value)
        for index, value in enumerate(conversations):
            location = f"{record.location}/{index}" if isinstance(record.value, list) else record.location
            try:
                yield from list(_runs(require_object(value, location), location))
            except BadFile as problem:
                source.problems.append(problem)


def _conversation_files(data: bytes) -> list[str]:
    """List the conversation files of an export; a long history spans several."""
    try:
        names = archives.Archive(data).names
    except BadFile:
        return []
    return sorted(name for name in names if _MEMBER.fullmatch(name))


def _archive_runs(source: Source) -> Iterator[RecordedRun]:
    archive = archives.Archive(source.data)
    feedback = _read_feedback(archive, source)
    for name in _conversation_files(source.data):
        member = Source(name=name, data=archive.read(name))
        yield from (_with_feedback(run, feedback) for run in parse(member))
        source.problems.extend(problem.prefix_location(name) for problem in member.problems)


def _read_feedback(archive: archives.Archive, source: Source) -> dict[str, list[JSONObject]]:
    """Return what the user thought of messages, by the conversation."""
    feedback: dict[str, list[JSONObject]] = {}
    for name in filter(_FEEDBACK.fullmatch, archive.names):
        member = Source(name=name, data=archive.read(name))
        try:
            for item in as_objects(member.value):
                parse_time(item.get("create_time"), "create_time")
                feedback.setdefault(as_text(item.get("conversation_id")), []).append(item)
        except BadFile as problem:
            source.problems.append(problem.prefix_location(name))
    return feedback


def _with_feedback(run: RecordedRun, feedback: dict[str, list[JSONObject]]) -> RecordedRun:
    """Add the feedback on the messages of a run. That on a message of another branch is a judgement of the run."""
    conversation, _, branch = run.external_id.partition("/")
    steps = {as_text(step.attributes.get("message_id")): step.key for step in run.steps}
    judgements: list[RecordedJudgement] = []
    for item in feedback.get(conversation, []):
        message = as_text(first_member(item, "message_id", "id"))
        if branch and message not in steps:
            continue
        rating, comment = as_text(item.get("rating")), parse_embedded(item.get("content"))
        kinds = (kind for word, kind in _RATINGS.items() if word in rating.lower())
        judgements.append(
            RecordedJudgement(
                name="feedback",
                kind=next(kinds, JudgementKind.NOTE),
                text=as_text(first_member(as_object(comment), "text", "comment")) or rating,
                at=parse_time(item.get("create_time"), "message_feedback.json"),
                step=steps.get(message),
                detail={"tags": as_list(as_object(comment).get("tags"))} if as_object(comment).get("tags") else {},
            )
        )
    return replace(run, judgements=(*run.judgements, *judgements)) if judgements else run


def _is_conversation(body: JSONObject) -> bool:
    nodes = list(as_object(body.get("mapping")).values())[:5]
    return bool(nodes) and all({"parent", "children"} & as_object(node).keys() for node in nodes)


def _runs(body: JSONObject, location: str) -> Iterator[RecordedRun]:
    nodes = {key: as_object(node) for key, node in require_object(body.get("mapping"), f"{location}/mapping").items()}
    # Some programs that reduce an export leave out the parents, and some the children.
    owners = {child: key for key, node in nodes.items() for child in map(as_text, as_list(node.get("children")))}
    parents = {key: as_text(node.get("parent")) or owners.get(key, "") for key, node in nodes.items()}
    main = current_path(parents, as_text(body.get("current_node")))
    answers = {key for key, node in nodes.items() if _role(node) == "assistant"}
    branches = other_branches(parents, main, answers)
    conversation = as_text(first_member(body, "conversation_id", "id")) or f"{FORMAT}-{content_id(body, location)}"
    yield _run(body, nodes, main, conversation, {"other_branches": len(branches) or None}, location)
    for branch in branches[:MOST_BRANCHES]:
        facts: JSONObject = {"left_branch_of": conversation, "shared_messages": branch.shared_length}
        yield _run(body, nodes, branch.path, f"{conversation}/{branch.fork}", facts, location)


def _role(node: JSONObject) -> str:
    return as_text(as_object(as_object(node.get("message")).get("author")).get("role"))


def _run(
    body: JSONObject,
    nodes: dict[str, JSONObject],
    path: Sequence[str],
    external_id: str,
    facts: JSONObject,
    location: str,
) -> RecordedRun:
    model = as_text(body.get("default_model_slug"))
    messages = _join_answers(
        message
        for key in path
        for message in _recorded_messages(as_object(nodes[key].get("message")), f"{location}/mapping/{key}/message")
    )
    return build_run(
        RunFacts(
            external_id=external_id,
            app=FORMAT,
            format=FORMAT,
            title=title if (title := as_text(body.get("title"))) not in _NO_TITLES else "",
            metadata={**omit(body, *_NOT_METADATA), **facts},
        ),
        transcripts.build_steps(
            messages, TranscriptSettings(model=model, provider=normalize_provider("openai"), agent=FORMAT)
        ),
        location=location,
    )


def _join_answers(messages: Iterable[TranscriptMessage]) -> list[TranscriptMessage]:
    """Join consecutive assistant messages without a result between them into one answer."""
    answers: list[TranscriptMessage] = []
    for message in messages:
        value, previous = as_object(message.value), as_object(answers[-1].value) if answers else {}
        if value.get("role") == previous.get("role") == "assistant":
            for name in ("content", "tool_calls"):
                previous[name] = [*as_list(previous.get(name)), *as_list(value.pop(name, None))]
            previous |= value
        else:
            answers.append(message)
    return answers


def _recorded_messages(message: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the message of a node; none for roots and hidden instructions without text."""
    author = as_object(message.get("author"))
    role = as_text(author.get("role"))
    content = _content(as_object(message.get("content")))
    # A result may be empty: what a search found is in the metadata.
    if not role or not (content or role == "tool"):
        return
    metadata = as_object(message.get("metadata"))
    facts: JSONObject = {name: item for name in _FACTS if (item := metadata.get(name))}
    value: JSONObject = {"role": role, "content": content, "ts": message.get("create_time"), **facts}
    recipient = as_text(message.get("recipient")) or "all"
    if role == "assistant":
        value |= {
            key: item
            for key, item in (("model", metadata.get("model_slug")), ("message_id", message.get("id")))
            if item
        }
        if recipient != "all":
            code = "\n".join(as_text(as_object(block).get("text")) for block in content)
            value |= {"content": [], "tool_calls": [_call(recipient, code)]}
    elif role == "tool":
        run = as_object(metadata.get("aggregate_result"))
        is_failed = as_text(as_object(message.get("content")).get("content_type")) in _FAILED
        is_failed = is_failed or as_text(run.get("status")).startswith("failed")
        value |= {"content": _plain(content), **({"is_error": True} if is_failed else {})}
    hidden = metadata.get("is_visually_hidden_from_conversation") is True
    aside = role == "user" and (hidden or metadata.get("is_user_system_message") is True)
    yield TranscriptMessage(location=location, value=value, is_injected=aside)


def _call(recipient: str, code: str) -> JSONValue:
    """Convert a message to a tool into a call; its text is code or JSON."""
    arguments = parse_embedded(code)
    return {"id": "", "name": recipient, "arguments": arguments if isinstance(arguments, dict) else {"input": code}}


def _content(content: JSONObject) -> list[JSONValue]:
    """Return the content blocks of a message."""
    match as_text(content.get("content_type")):
        case "thoughts":
            thoughts = [as_object(thought) for thought in as_list(content.get("thoughts"))]
            return [{"type": "thinking", "thinking": _thought(thought)} for thought in thoughts]
        case "reasoning_recap":
            # The thinking time, as the page shows it.
            return []
        case "model_editable_context" | "user_editable_context":
            texts = [as_text(content.get(name)) for name in ("user_profile", "user_instructions", "model_set_context")]
            return [{"type": "text", "text": value} for value in texts if value.strip()]
    if "parts" in content:
        return [block for part in as_list(content["parts"]) for block in _block(part)]
    value = first_member(content, "text", "result", "content", "summary")
    return [{"type": "text", "text": result_text(value)}] if value else []


def _thought(thought: JSONObject) -> str:
    """Return a thought after its summary, which ChatGPT shows as its title."""
    return ": ".join(text for name in ("summary", "content") if (text := as_text(thought.get(name)).strip()))


def _block(part: JSONValue) -> list[JSONValue]:
    if isinstance(part, str):
        return [{"type": "text", "text": part}] if part.strip() else []
    if as_text(as_object(part).get("content_type")) == "audio_transcription":
        return [{"type": "text", "text": as_object(part).get("text")}]
    return [part] if isinstance(part, dict) else []


def _plain(content: list[JSONValue]) -> JSONValue:
    """Return the content of a result as a text if all its blocks are texts."""
    blocks = [as_object(block) for block in content]
    if all(block.get("type") == "text" for block in blocks):
        return "\n".join(as_text(block.get("text")) for block in blocks)
    return content
