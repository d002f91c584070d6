"""Which overrides apply to which step, refused where they make no sense, and applied to a call. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from replay.graph import Graph, Node
from replay.overrides import (
    MessageEdit,
    ModelOverride,
    Override,
    OverrideProfile,
    PromptOverride,
    RetrievalOverride,
    ToolOverride,
)
from replay.schemas import PlanRefusal
from replay.steps_by_name import StepsByName, named_by
from traces.json_types import JSONObject, JSONValue
from traces.vocabulary import StepType

# Which kinds of step a category can change; `output` fits every step.
_FITS: Final[dict[str, frozenset[StepType]]] = {
    "prompt": frozenset({StepType.PROMPT, StepType.MODEL}),
    "messages": frozenset({StepType.MODEL}),
    "model": frozenset({StepType.MODEL}),
    "retrieval": frozenset({StepType.RETRIEVAL}),
    "arguments": frozenset({StepType.TOOL}),
    "tool": frozenset({StepType.TOOL}),
}
_MOST_REFUSALS: Final = 100  # in one plan: nobody reads more
_MOST_PAIRS: Final = 100_000  # of an entry and a step that it changes
_EACH: Final = 5  # as many for each step, where there are more steps
_PARAMETERS: Final = ("temperature", "top_p", "max_tokens", "seed", "stop")
_REQUEST: Final = ("tools", "response_format")
# Names under which recordings carry the same parameter.
_SPELLINGS: Final = {"max_tokens": ("max_tokens", "max_completion_tokens"), "stop": ("stop", "stop_sequences")}


@dataclass(frozen=True, kw_only=True)
class Given:
    """A value that an operator gave: present even when it is null."""

    value: JSONValue


@dataclass(frozen=True, kw_only=True)
class Edits:
    """Everything the profile sets on one step; absent fields are not overridden."""

    entries: tuple[int, ...] = ()
    prompt: JSONObject = field(default_factory=dict)
    model: JSONObject = field(default_factory=dict)
    retrieval: JSONObject = field(default_factory=dict)
    messages: tuple[MessageEdit, ...] = ()
    arguments: Given | None = None
    tool: ToolOverride | None = None
    output: Given | None = None


NO_EDITS: Final = Edits()


@dataclass(frozen=True, kw_only=True)
class AppliedProfile:
    """The edits by step number, what is refused, and the entries for steps that the recording does not have.

    Steps that the same entries match have one object in common.
    """

    by_step: Mapping[int, Edits]
    refusals: tuple[PlanRefusal, ...]
    profile: OverrideProfile

    def of(self, node: Node) -> Edits:
        return self.by_step.get(node.no, NO_EDITS)

    @property
    def distinct(self) -> list[Edits]:
        """The edits of all steps, those of several steps once."""
        return list({id(edits): edits for edits in self.by_step.values()}.values())

    def of_new(self, *, type: StepType, name: str, at: int, model: str = "") -> Edits:
        """What entries that match by type set on a step that the recording does not have, after its step `at`."""
        found = [
            (index, entry)
            for index, entry in enumerate(self.profile.overrides)
            if entry.match.step is None and entry.match.type is type and named_by(entry, name, model)
            if entry.match.takes_in(at)
        ]
        return _merged(found, type) if found else NO_EDITS


def apply_profile(profile: OverrideProfile, graph: Graph) -> AppliedProfile:
    """Match every entry against the steps from the fork on. One with too much wrong, or in it, changes nothing."""
    refusals: list[PlanRefusal] = []
    found: dict[int, tuple[int, ...]] = {}
    steps, pairs = StepsByName(graph), 0
    for index, entry in enumerate(profile.overrides):
        matched = _matched(index, entry, steps, refusals)
        pairs += len(matched)
        if pairs > max(_MOST_PAIRS, _EACH * len(graph.nodes)):
            return AppliedProfile(by_step={}, refusals=(_too_many(index, pairs),), profile=profile)
        for node in matched:
            found[node.no] = (*found.get(node.no, ()), index)
    fitting: set[tuple[int, ...]] = set()  # entries that were held against one another already
    for no, indexes in found.items():
        before = len(refusals)
        if indexes not in fitting and before < _MOST_REFUSALS:
            _refuse_conflicts(no, [(index, profile.overrides[index]) for index in indexes], refusals)
            fitting.update([indexes] if len(refusals) == before else ())
    if len(refusals) >= _MOST_REFUSALS:
        return AppliedProfile(by_step={}, refusals=tuple(refusals[:_MOST_REFUSALS]), profile=profile)
    same: dict[tuple[object, ...], Edits] = {}  # steps that the same entries match have the same edits
    by_step: dict[int, Edits] = {}
    for no, indexes in found.items():
        key = graph.by_no[no].type, indexes
        if key not in same:
            same[key] = _merged([(index, profile.overrides[index]) for index in indexes], graph.by_no[no].type)
        by_step[no] = same[key]
    return AppliedProfile(by_step=by_step, refusals=tuple(refusals), profile=profile)


def _too_many(index: int, pairs: int) -> PlanRefusal:
    detail = f"up to this entry the profile changes steps {pairs:,} times, which is more than anybody can follow"
    return PlanRefusal(code="validation_error", detail=detail, where=pointer(index, "match"))


def pointer(index: int, *path: str | int) -> str:
    """The JSON pointer of an entry, or of a field in it, in a replay request."""
    return "/".join(["/overrides/overrides", str(index), *map(str, path)])


def _matched(index: int, entry: Override, steps: StepsByName, refusals: list[PlanRefusal]) -> list[Node]:
    nodes = _named(index, entry, steps, refusals) if entry.match.step is not None else steps.typed(entry)
    if nodes is None:
        return []
    fits = {type: all(_fits(name, entry, type) for name in entry.sets) for type in {node.type for node in nodes}}
    fitting = [node for node in nodes if fits[node.type]]
    if fitting:
        return fitting
    refusals.append(_nothing(index, entry, nodes))
    return []


def _fits(name: str, entry: Override, type: StepType) -> bool:
    """Whether a category can change this step: `prompt.system` is for model steps, the rest of it for prompt steps."""
    if type not in _FITS.get(name, (type,)):
        return False
    if name != "prompt" or entry.prompt is None:
        return True
    return ("system" in entry.prompt.model_fields_set) == (type is StepType.MODEL)


def _named(index: int, entry: Override, steps: StepsByName, refusals: list[PlanRefusal]) -> list[Node] | None:
    """The step that the entry names, or None when that was refused here already."""
    ref = str(entry.match.step)
    if (node := steps.named(ref)) is not None:
        return [node]
    earlier = steps.before(ref)
    if earlier is None:
        return []
    detail = f"step {earlier} lies before the fork at step {steps.fork}"
    where = pointer(index, "match", "step")
    refusals.append(PlanRefusal(code="override_before_fork", detail=detail, where=where, step=earlier))
    return None


def _nothing(index: int, entry: Override, nodes: list[Node]) -> PlanRefusal:
    if nodes:
        node = nodes[0]
        wrong = next(name for name in entry.sets if not _fits(name, entry, node.type))
        detail = f"`{wrong}` does not apply to step {node.no}, which is a {node.type} step"
        return PlanRefusal(code="override_matches_nothing", detail=detail, where=pointer(index, wrong), step=node.no)
    said = entry.match.model_dump(mode="json", exclude_none=True)
    return PlanRefusal(
        code="override_matches_nothing",
        detail=f"no step from the fork on matches {said}",
        where=pointer(index, "match"),
    )


def _refuse_conflicts(no: int, entries: list[tuple[int, Override]], refusals: list[PlanRefusal]) -> None:
    seen: dict[str, int] = {}
    for index, entry in entries:
        for name, where in _fields(index, entry):
            if name in seen:
                detail = f"step {no}: `{name}` is set by entry {seen[name]} and by entry {index}"
                refusals.append(PlanRefusal(code="override_conflict", detail=detail, where=where, step=no))
            seen.setdefault(name, index)


def _fields(index: int, entry: Override) -> Iterable[tuple[str, str]]:
    """The fields that an entry sets, each with its pointer. `tool` and `output` both set the output."""
    for category in entry.sets:
        value = getattr(entry, category)
        if category in {"tool", "output"}:
            yield "output", pointer(index, category)
        elif category == "arguments":
            yield "arguments", pointer(index, category)
        elif category == "model":
            yield from ((f"model.{name}", where) for name, where in _asked_with(index, value))
        elif category == "messages":
            for at, edit in enumerate(value):
                if edit.op != "insert":
                    yield f"messages[{edit.index}]", pointer(index, category, at)
        elif value is not None:
            for name in sorted(value.model_fields_set):
                yield f"{category}.{name}", pointer(index, category, name)


def _asked_with(index: int, value: ModelOverride | None) -> Iterable[tuple[str, str]]:
    """What of a request an entry sets or leaves out, by the name that recordings mostly use."""
    fields = sorted(value.model_fields_set) if value is not None else ()
    for name in fields:
        if name == "parameters":
            yield from ((each, pointer(index, "model", name, each)) for each in getattr(value, name) or ())
        elif name == "unset":
            names = getattr(value, name) or ()
            yield from ((_known_as(each), pointer(index, "model", name, at)) for at, each in enumerate(names))
        else:
            yield name, pointer(index, "model", name)


def _known_as(name: str) -> str:
    return next((known for known, spellings in _SPELLINGS.items() if name in spellings), name)


def _merged(entries: list[tuple[int, Override]], type: StepType) -> Edits:
    prompt: JSONObject = {}
    model: JSONObject = {}
    retrieval: JSONObject = {}
    messages: list[MessageEdit] = []
    arguments: Given | None = None
    tool: ToolOverride | None = None
    output: Given | None = None
    for _, entry in entries:
        prompt |= _set_fields(entry.prompt, only="system" if type is StepType.MODEL else None)
        model = with_both(model, _set_fields(entry.model))
        retrieval |= _set_fields(entry.retrieval)
        messages += entry.messages or []
        arguments = Given(value=entry.arguments) if entry.arguments is not None else arguments
        tool = entry.tool or tool
        output = Given(value=entry.output) if "output" in entry.sets else output
    indexes = tuple(index for index, _ in entries)
    return Edits(
        entries=indexes, prompt=prompt, model=model, retrieval=retrieval, messages=tuple(messages),
        arguments=arguments, tool=tool, output=output,
    )  # fmt: skip


def _set_fields(
    value: PromptOverride | ModelOverride | RetrievalOverride | None, only: str | None = None
) -> JSONObject:
    """What was written down, 0 and empty among it; null means not overridden."""
    if value is None:
        return {}
    return {
        name: item
        for name, item in value.model_dump(mode="json", exclude_unset=True).items()
        if item is not None and only in {None, name}
    }


def with_both(one: JSONObject, other: JSONObject) -> JSONObject:
    """Two entries of one step: further parameters, and what is left out, of both; the other one wins."""
    own = {**one, **other}
    gone = [str(name) for name in _names(other.get("unset"))]
    said = {*edited_names({**other, "unset": []})}
    parameters = {**_object(one.get("parameters")), **_object(other.get("parameters"))}
    unset = [name for name in map(str, _names(one.get("unset"))) if name not in said and name not in gone]
    kept = {name: value for name, value in own.items() if name not in {*gone, "parameters", "unset"}}
    parameters = {name: value for name, value in parameters.items() if name not in gone}
    both: JSONObject = {**kept, **({"parameters": parameters} if parameters else {})}
    return {**both, "unset": list[JSONValue]([*unset, *gone])} if unset or gone else both


def edited_request(input: JSONObject, model: JSONObject) -> JSONObject:
    """A model input with other tools, response format or parameters, under the spellings that the recording uses."""
    given = {name: model[name] for name in _PARAMETERS if name in model} | _object(model.get("parameters"))
    gone = frozenset(map(str, _names(model.get("unset"))))
    edited: JSONObject = {**input, **{name: model[name] for name in _REQUEST if name in model}}
    edited = {name: value for name, value in edited.items() if name not in gone} if gone else edited
    if not given and not gone:
        return edited
    parameters = {**_object(input.get("parameters"))}
    for name, value in given.items():
        spelled = next((known for known in _SPELLINGS.get(name, ()) if known in parameters), name)
        parameters[spelled] = value
    parameters = {name: value for name, value in parameters.items() if not {name, _known_as(name)} & gone}
    edited["parameters"] = parameters
    return edited if parameters or not gone else {name: edited[name] for name in edited if name != "parameters"}


def edited_names(model: JSONObject) -> list[str]:
    """What of a request is set or left out, by name."""
    own = [name for name in model if name not in {"parameters", "unset"}]
    return [*own, *_object(model.get("parameters")), *map(str, _names(model.get("unset")))]


def with_system(messages: list[JSONValue], text: str) -> list[JSONValue]:
    """The messages with their first system prompt replaced, or one put in front where there was none.

    An empty text leaves out every system prompt, but for one that was empty before.
    """
    if not text:
        return [message for message in messages if not _is_system(message) or _is_empty(message)]
    for at, message in enumerate(messages):
        if isinstance(message, dict) and _is_system(message):
            return [*messages[:at], {**message, "content": text}, *messages[at + 1 :]]
    return [{"role": "system", "content": text}, *messages]


def with_system_slots(slots: list[list[JSONValue]], text: str) -> list[list[JSONValue]]:
    """Like `with_system`, keeping each message in its slot."""
    if not text:
        return [with_system(slot, text) for slot in slots]
    for at, slot in enumerate(slots):
        if any(map(_is_system, slot)):
            return [*slots[:at], with_system(slot, text), *slots[at + 1 :]]
    return [with_system(slots[0], text), *slots[1:]] if slots else [with_system([], text)]


def edit_slots(slots: list[list[JSONValue]], edits: Iterable[MessageEdit]) -> list[list[JSONValue]]:
    """Message edits by recorded index; a slot holds what stands in one recorded message's place.

    An insertion at an index stands before that message; an index past the end appends.
    """
    edited = [list(slot) for slot in slots] + [[]]
    inserted: dict[int, list[JSONValue]] = {}
    for edit in edits:
        at = min(edit.index, len(slots))
        if edit.op == "insert":
            made = edit.message or {"role": edit.role or "user", "content": edit.content}
            inserted.setdefault(at, []).append(made)
        elif edit.op == "delete":
            edited[at] = []
        else:
            edited[at] = [_replaced(edited[at], edit)]
    return [[*inserted.get(at, []), *slot] for at, slot in enumerate(edited)]


def bad_edit(
    no: int, index: int, entry: Override, messages: list[JSONValue], prompt: JSONObject
) -> PlanRefusal | None:  # fmt: skip
    """The first edit of an entry that step `no` cannot take: no such message, or one that `prompt` sets too."""
    system = _system_places(messages, prompt)
    for at, edit in enumerate(entry.messages or ()):
        where = pointer(index, "messages", at, "index")
        if edit.index >= len(messages) + (edit.op == "insert"):
            detail = f"step {no} has {len(messages)} messages: there is none at index {edit.index}"
            return PlanRefusal(code="override_matches_nothing", detail=detail, where=where, step=no)
        if edit.index in system and edit.op != "insert":
            detail = f"step {no}: message {edit.index} is the system prompt, which `prompt.system` sets as well"
            return PlanRefusal(code="override_conflict", detail=detail, where=where, step=no)
    return None


def _system_places(messages: list[JSONValue], prompt: JSONObject) -> list[int]:
    """Which messages `prompt.system` sets: see `with_system`."""
    if "system" not in prompt:
        return []
    places = [at for at, message in enumerate(messages) if _is_system(message)]
    return places[:1] if prompt["system"] else places


def _replaced(slot: list[JSONValue], edit: MessageEdit) -> JSONValue:
    if edit.message is not None:
        return edit.message
    old = slot[0] if slot and isinstance(slot[0], dict) else {}
    role = edit.role or old.get("role", "user")
    return {**old, "role": role, "content": edit.content}


def _is_system(message: JSONValue) -> bool:
    return isinstance(message, dict) and message.get("role") in {"system", "developer"}


def _is_empty(message: JSONValue) -> bool:
    return isinstance(message, dict) and message.get("content") == ""


def _object(value: JSONValue) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _names(value: JSONValue) -> list[JSONValue]:
    return value if isinstance(value, list) else []
