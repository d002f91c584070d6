"""What differs inside a pair of steps, once their payloads are open: one facet for each thing that changed.

Sections show facets, attribution takes the causes from them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from diffing.compare.comparison import Pair
from diffing.compare.run_side import SideStep
from diffing.content.message_diff import MessagePair, changed_messages, content_text, key_of, without_call_ids
from diffing.schemas.report import SectionName
from diffing.schemas.terms import Category
from diffing.sequences.json_diff import differ, parse_embedded_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.missing_parts import comparable
from traces.signatures.call_signatures import DEFAULT_IGNORED
from traces.signatures.ignore_rules import NOTHING, Ignoring

Payloads = Mapping[str, JSONValue]
Part = Literal["input", "config", "output"]
Form = Literal["text", "values", "ranks", "messages"]

_QUERY: Final = frozenset({"query"})
_MESSAGE_PARTS: Final = frozenset({"messages", "tools"})
WINDOW: Final = "context window"  # the kind of a difference in what of a conversation is still shown
SYSTEM_ROLES: Final = frozenset({"system", "developer"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Facet:
    """One thing that differs between the two steps of a pair.

    `part` says whether the step was given it (input), was set up with it (config) or made it (output);
    `category` is the kind of cause that it would be.
    """

    pair: Pair
    section: SectionName
    kind: str
    part: Part
    category: Category
    form: Form
    base: JSONValue = None
    candidate: JSONValue = None
    messages: tuple[MessagePair, ...] = ()


class Missing(LookupError):
    """Payloads of one kind that the store no longer has, by side. It reads the same when the sides are swapped."""

    def __init__(self, what: str, lost: Mapping[str, str]) -> None:
        whose = f"of the {next(iter(lost))} is" if len(lost) == 1 else "of both runs is"
        digests = " and ".join(sorted(lost.values()))
        super().__init__(f"the {what} {whose} recorded, but its artifact is missing or damaged ({digests})")


def facets(pair: Pair, payloads: Payloads, ignoring: Ignoring = NOTHING) -> Iterator[Facet]:
    """The facets of a pair that differs, without what signatures leave out as well; raises `Missing`."""
    if pair.sides is None:
        return
    base, candidate = pair.sides
    reader = _READERS.get(StepType(base.type), _other)
    if base.input_ref and candidate.input_ref and base.input_ref != candidate.input_ref:
        given = _load("input", base.input_ref, candidate.input_ref, payloads)
        left, right = (
            ignoring.reduced(StepType(step.type), step.tool_name or step.name, value)
            for step, value in zip((base, candidate), given, strict=True)
        )
        if left != right:
            yield from reader.given(pair, left, right)
    yield from _settings(pair, base, candidate)
    if base.output_ref != candidate.output_ref:
        made = _load("output", base.output_ref, candidate.output_ref, payloads)
        yield from reader.made(pair, *made)
    if (base.status, base.error) != (candidate.status, candidate.error):
        yield _status(pair, base, candidate)


def _load(what: str, base: str, candidate: str, payloads: Payloads) -> tuple[JSONValue, JSONValue]:
    """What both sides recorded; raises `Missing`."""
    lost = {side: ref for side, ref in (("base", base), ("candidate", candidate)) if ref and ref not in payloads}
    if lost:
        raise Missing(what, lost)
    return comparable(payloads.get(base), payloads.get(candidate), set())


def lost_parts(pair: Pair, payloads: Payloads) -> Iterator[str]:
    """What of a pair's payloads cannot be compared because a part of it is lost, one sentence for each."""
    for what in ("input", "output") if pair.sides else ():
        refs = [getattr(step, f"{what}_ref") for step in pair.sides or ()]
        if all(refs) and refs[0] != refs[1] and not any(ref not in payloads for ref in refs):
            lost: set[str] = set()
            comparable(payloads[refs[0]], payloads[refs[1]], lost)
            for part in sorted(lost):
                yield f"part of the {what} is recorded, but its artifact is missing or damaged ({part})"


def _settings(pair: Pair, base: SideStep, candidate: SideStep) -> Iterator[Facet]:
    if (base.provider, base.model) != (candidate.provider, candidate.model):
        left: JSONObject = {"provider": base.provider, "model": base.model}
        right: JSONObject = {"provider": candidate.provider, "model": candidate.model}
        yield Facet(
            pair=pair,
            section="model",
            kind="model",
            part="config",
            category="model",
            form="values",
            base=left,
            candidate=right,
        )


def _status(pair: Pair, base: SideStep, candidate: SideStep) -> Facet:
    section: SectionName = _SECTIONS.get(StepType(base.type), "run")
    left: JSONObject = {"status": str(base.status), "error": base.error}
    right: JSONObject = {"status": str(candidate.status), "error": candidate.error}
    category = _CATEGORIES.get(StepType(base.type), "structure")
    return Facet(
        pair=pair,
        section=section,
        kind="status",
        part="output",
        category=category,
        form="values",
        base=left,
        candidate=right,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reader:
    """How the input and the output of one type of step are read."""

    given: Callable[[Pair, JSONValue, JSONValue], Iterator[Facet]]
    made: Callable[[Pair, JSONValue, JSONValue], Iterator[Facet]]


def _model_given(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = _object(base), _object(candidate)
    yield from _message_facets(pair, _items(left.get("messages")), _items(right.get("messages")))
    tools = _by_name(left.get("tools")), _by_name(right.get("tools"))
    if differ(*tools):
        yield Facet(
            pair=pair,
            section="prompt",
            kind="tool schemas",
            part="input",
            category="prompt",
            form="values",
            base=tools[0],
            candidate=tools[1],
        )
    settings = _settings_of(left), _settings_of(right)
    if differ(*settings):
        yield Facet(
            pair=pair,
            section="model",
            kind="parameters",
            part="config",
            category="model",
            form="values",
            base=settings[0],
            candidate=settings[1],
        )


def _message_facets(pair: Pair, base: list[JSONValue], candidate: list[JSONValue]) -> Iterator[Facet]:
    """The system prompt as a text of its own, the other messages as a list."""
    left, right = _system(base), _system(candidate)
    if left != right:
        yield Facet(
            pair=pair,
            section="prompt",
            kind="system prompt",
            part="input",
            category="prompt",
            form="text",
            base=left,
            candidate=right,
        )
    changed = tuple(item for item in changed_messages(base, candidate) if item.role not in SYSTEM_ROLES)
    if changed:
        yield Facet(
            pair=pair,
            section="prompt",
            kind="message list",
            part="input",
            category="upstream",
            form="messages",
            messages=changed,
        )


def _model_made(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = _answer(base), _answer(candidate)
    texts = content_text(left.get("content")), content_text(right.get("content"))
    if texts[0] != texts[1]:
        yield Facet(
            pair=pair,
            section="model",
            kind="completion",
            part="output",
            category="output",
            form="text",
            base=texts[0],
            candidate=texts[1],
        )
    calls = without_call_ids(left.get("tool_calls")), without_call_ids(right.get("tool_calls"))
    if calls[0] != calls[1]:
        yield Facet(
            pair=pair,
            section="model",
            kind="tool calls",
            part="output",
            category="output",
            form="values",
            base=calls[0],
            candidate=calls[1],
        )
    reasons = _object(base).get("finish_reason"), _object(candidate).get("finish_reason")
    if reasons[0] != reasons[1] and None not in reasons:
        yield Facet(
            pair=pair,
            section="model",
            kind="finish reason",
            part="output",
            category="output",
            form="values",
            base={"finish_reason": reasons[0]},
            candidate={"finish_reason": reasons[1]},
        )


def _tool_given(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    yield Facet(
        pair=pair,
        section="tool",
        kind="arguments",
        part="input",
        category="tool",
        form="values",
        base=parse_embedded_json(base),
        candidate=parse_embedded_json(candidate),
    )


def _tool_made(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    yield _value(pair, "tool", "result", "tool", base, candidate)


def _retrieval_given(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = _object(base), _object(candidate)
    if left.get("query") != right.get("query"):
        yield Facet(
            pair=pair,
            section="retrieval",
            kind="query",
            part="input",
            category="retrieval",
            form="text",
            base=content_text(left.get("query")),
            candidate=content_text(right.get("query")),
        )
    settings = _rest(left, _QUERY), _rest(right, _QUERY)
    if differ(*settings):
        yield Facet(
            pair=pair,
            section="retrieval",
            kind="settings",
            part="config",
            category="retrieval",
            form="values",
            base=settings[0],
            candidate=settings[1],
        )


def _retrieval_made(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    yield Facet(
        pair=pair,
        section="retrieval",
        kind="documents",
        part="output",
        category="retrieval",
        form="ranks",
        base=_object(base).get("documents"),
        candidate=_object(candidate).get("documents"),
    )


def _prompt_given(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = _object(base), _object(candidate)
    texts = content_text(left.get("template")), content_text(right.get("template"))
    if texts[0] != texts[1]:
        yield Facet(
            pair=pair,
            section="prompt",
            kind="template",
            part="input",
            category="prompt",
            form="text",
            base=texts[0],
            candidate=texts[1],
        )
    rest = _rest(left, {"template"}), _rest(right, {"template"})
    if rest[0] != rest[1]:
        yield Facet(
            pair=pair,
            section="prompt",
            kind="template version and variables",
            part="input",
            category="prompt",
            form="values",
            base=rest[0],
            candidate=rest[1],
        )


def _prompt_made(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    left, right = _object(base), _object(candidate)
    if "messages" in left or "messages" in right:
        yield from _message_facets(pair, _items(left.get("messages")), _items(right.get("messages")))
    else:
        yield _value(pair, "prompt", "rendered prompt", "prompt", left.get("text", base), right.get("text", candidate))


def _output_given(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    yield _value(pair, "output", "input of the output step", "output", base, candidate, part="input")


def _output_made(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    texts = answer_text(base), answer_text(candidate)
    if texts[0] != texts[1]:
        yield Facet(
            pair=pair,
            section="output",
            kind="final answer",
            part="output",
            category="output",
            form="text",
            base=texts[0],
            candidate=texts[1],
        )
    cited = _object(base).get("citations") or [], _object(candidate).get("citations") or []
    if differ({"citations": cited[0]}, {"citations": cited[1]}):
        yield Facet(
            pair=pair,
            section="output",
            kind="citations",
            part="output",
            category="output",
            form="values",
            base={"citations": cited[0]},
            candidate={"citations": cited[1]},
        )


def _other_given(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    if pair.step.type == StepType.TURN:  # its message is in the first request of the turn
        return
    yield _value(pair, "run", f"{pair.step.type} input", "upstream", base, candidate, part="input")


def _other_made(pair: Pair, base: JSONValue, candidate: JSONValue) -> Iterator[Facet]:
    if not pair.is_container:  # what a container gives is what a step in it gave
        yield _value(pair, "run", f"{pair.step.type} output", "structure", base, candidate)


def _value(
    pair: Pair,
    section: SectionName,
    kind: str,
    category: Category,
    base: JSONValue,
    candidate: JSONValue,
    part: Part = "output",
) -> Facet:
    """Two texts are compared as texts; anything else, and texts that hold JSON, by structure."""
    left, right = parse_embedded_json(base), parse_embedded_json(candidate)
    plain = isinstance(left, str) and isinstance(right, str)
    return Facet(
        pair=pair,
        section=section,
        kind=kind,
        part=part,
        category=category,
        form="text" if plain else "values",
        base=left,
        candidate=right,
    )


_other: Final = _Reader(given=_other_given, made=_other_made)
_READERS: Final[Mapping[StepType, _Reader]] = {
    StepType.MODEL: _Reader(given=_model_given, made=_model_made),
    StepType.TOOL: _Reader(given=_tool_given, made=_tool_made),
    StepType.RETRIEVAL: _Reader(given=_retrieval_given, made=_retrieval_made),
    StepType.PROMPT: _Reader(given=_prompt_given, made=_prompt_made),
    StepType.OUTPUT: _Reader(given=_output_given, made=_output_made),
}
_SECTIONS: Final[Mapping[StepType, SectionName]] = {
    StepType.MODEL: "model",
    StepType.TOOL: "tool",
    StepType.RETRIEVAL: "retrieval",
    StepType.PROMPT: "prompt",
    StepType.OUTPUT: "output",
}
_CATEGORIES: Final[Mapping[StepType, Category]] = {
    StepType.MODEL: "output",
    StepType.TOOL: "tool",
    StepType.RETRIEVAL: "retrieval",
    StepType.PROMPT: "prompt",
    StepType.OUTPUT: "output",
}


def answer_text(value: JSONValue) -> str:
    """The text of a final answer in any of the shapes that an output has."""
    if isinstance(value, dict):
        message = value.get("message")
        inner = message.get("content") if isinstance(message, dict) else None
        for found in (value.get("text"), inner, value.get("content"), value.get("answer"), value.get("output")):
            if found is not None:
                return content_text(found)
    return content_text(value)


def _system(messages: list[JSONValue]) -> str:
    texts = [
        content_text(item.get("content"))
        for item in messages
        if isinstance(item, dict) and item.get("role") in SYSTEM_ROLES
    ]
    return "\n\n".join(texts)


def _answer(value: JSONValue) -> JSONObject:
    """The message of a model's output; a bare text counts as its content."""
    message = _object(value).get("message", value)
    return message if isinstance(message, dict) else {"content": message}


def _by_name(tools: JSONValue) -> JSONValue:
    """Tool schemas by name, so that a pointer names the tool."""
    named = {str(tool.get("name") or key_of(tool)[:12]): tool for tool in _items(tools) if isinstance(tool, dict)}
    return dict(named)


def _settings_of(request: JSONObject) -> JSONObject:
    """What a model is asked with beside messages and tools, in one level, without what identifies the request."""
    inner = request.get("parameters")
    outer = _rest(request, {*_MESSAGE_PARTS, "parameters"})
    flat = {**outer, **(inner if isinstance(inner, dict) else {})}
    return {key: value for key, value in flat.items() if key not in DEFAULT_IGNORED}


def _rest(value: JSONObject, names: frozenset[str] | set[str]) -> JSONObject:
    return {key: item for key, item in value.items() if key not in names and item is not None}


def _object(value: JSONValue) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _items(value: JSONValue) -> list[JSONValue]:
    return value if isinstance(value, list) else []
