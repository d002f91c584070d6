"""Match a profile's overrides with steps, and refuse those that do not apply. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from replay.core.graph import Graph, Node
from replay.core.plan import PlanRefusal
from replay.core.step_selectors import StepsByName, matches_name
from replay.overrides.edits import NO_EDITS, Edits, OverrideValue, merge_settings
from replay.overrides.policy import Policy
from replay.overrides.profile import (
    MessageEdit,
    ModelOverride,
    Override,
    OverrideProfile,
    PromptOverride,
    RetrievalOverride,
    ToolOverride,
)
from replay.overrides.request_edits import canonical_name
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType

# Step types that a category can change; `output` fits every step.
_FITS: Final[dict[str, frozenset[StepType]]] = {
    "prompt": frozenset({StepType.PROMPT, StepType.MODEL}),
    "messages": frozenset({StepType.MODEL}),
    "model": frozenset({StepType.MODEL}),
    "retrieval": frozenset({StepType.RETRIEVAL}),
    "arguments": frozenset({StepType.TOOL}),
    "tool": frozenset({StepType.TOOL}),
}
_MAX_REFUSALS: Final = 100  # per plan
# Limits on pairs of an entry and a step that it changes; the higher one applies.
_MAX_PAIRS: Final = 100_000
_PAIRS_PER_STEP: Final = 5


@dataclass(frozen=True, kw_only=True)
class AppliedProfile:
    """Edits by step number, refusals, and the profile with the entries for new steps.

    Steps that match the same entries share one `Edits` object.
    """

    by_step: Mapping[int, Edits]
    refusals: tuple[PlanRefusal, ...]
    profile: OverrideProfile

    def edits_of(self, node: Node) -> Edits:
        return self.by_step.get(node.no, NO_EDITS)

    @property
    def distinct(self) -> list[Edits]:
        """Distinct edits of all steps."""
        return list({id(edits): edits for edits in self.by_step.values()}.values())

    def edits_of_new(self, *, type: StepType, name: str, at: int, model: str = "") -> Edits:
        """Edits of a new step after recorded step `at`, from the entries that match by type."""
        entries = [
            (index, entry)
            for index, entry in enumerate(self.profile.overrides)
            if entry.match.step is None and entry.match.type is type and matches_name(entry, name, model)
            if entry.match.includes(at)
        ]
        return _merge(entries, type) if entries else NO_EDITS


def apply_profile(profile: OverrideProfile, graph: Graph) -> AppliedProfile:
    """Match every entry with the steps from the fork on; a profile with too many refusals or pairs has no edits."""
    refusals: list[PlanRefusal] = []
    indexes_by_step: dict[int, tuple[int, ...]] = {}
    steps, pairs = StepsByName(graph), 0
    for index, entry in enumerate(profile.overrides):
        steps_of_entry = _matching_steps(index, entry, steps, refusals)
        pairs += len(steps_of_entry)
        if pairs > max(_MAX_PAIRS, _PAIRS_PER_STEP * len(graph.nodes)):
            return AppliedProfile(by_step={}, refusals=(_too_many(index, pairs),), profile=profile)
        for node in steps_of_entry:
            indexes_by_step[node.no] = (*indexes_by_step.get(node.no, ()), index)
    # Groups of entries without conflicts.
    checked_groups: set[tuple[int, ...]] = set()
    for no, indexes in indexes_by_step.items():
        count = len(refusals)
        if indexes not in checked_groups and count < _MAX_REFUSALS:
            _refuse_conflicts(no, [(index, profile.overrides[index]) for index in indexes], refusals)
            checked_groups.update([indexes] if len(refusals) == count else ())
    if len(refusals) >= _MAX_REFUSALS:
        return AppliedProfile(by_step={}, refusals=tuple(refusals[:_MAX_REFUSALS]), profile=profile)
    # Edits by step type and matching entries.
    shared_edits: dict[tuple[object, ...], Edits] = {}
    by_step: dict[int, Edits] = {}
    for no, indexes in indexes_by_step.items():
        key = graph.by_no[no].type, indexes
        if key not in shared_edits:
            shared_edits[key] = _merge([(index, profile.overrides[index]) for index in indexes], graph.by_no[no].type)
        by_step[no] = shared_edits[key]
    return AppliedProfile(by_step=by_step, refusals=tuple(refusals), profile=profile)


def _too_many(index: int, pairs: int) -> PlanRefusal:
    detail = f"the profile makes {pairs:,} changes to steps up to this entry; match fewer steps"
    return PlanRefusal(code="validation_error", detail=detail, where=pointer(index, "match"))


def pointer(index: int, *path: str | int) -> str:
    """JSON pointer to an entry, or to a field in it, in a replay request."""
    return "/".join(["/overrides/overrides", str(index), *map(str, path)])


def _matching_steps(index: int, entry: Override, steps: StepsByName, refusals: list[PlanRefusal]) -> list[Node]:
    nodes = _named_steps(index, entry, steps, refusals) if entry.match.step is not None else steps.matches(entry)
    if nodes is None:
        return []
    fits = {type: all(_fits(name, entry, type) for name in entry.sets) for type in {node.type for node in nodes}}
    fitting = [node for node in nodes if fits[node.type]]
    if fitting:
        return fitting
    refusals.append(_no_match(index, entry, nodes))
    return []


def _fits(name: str, entry: Override, type: StepType) -> bool:
    """True if a category can change a step type: `prompt.system` is for models, other prompt fields for prompts."""
    if type not in _FITS.get(name, (type,)):
        return False
    if name != "prompt" or entry.prompt is None:
        return True
    return ("system" in entry.prompt.model_fields_set) == (type is StepType.MODEL)


def _named_steps(index: int, entry: Override, steps: StepsByName, refusals: list[PlanRefusal]) -> list[Node] | None:
    """Step that the entry names; None if it lies before the fork, which is refused."""
    ref = str(entry.match.step)
    if (node := steps.by_reference(ref)) is not None:
        return [node]
    earlier = steps.number_before_fork(ref)
    if earlier is None:
        return []
    detail = f"step {earlier} lies before the fork at step {steps.fork}"
    path = pointer(index, "match", "step")
    refusals.append(PlanRefusal(code="override_before_fork", detail=detail, where=path, step=earlier))
    return None


def _no_match(index: int, entry: Override, nodes: list[Node]) -> PlanRefusal:
    if nodes:
        node = nodes[0]
        name = next(name for name in entry.sets if not _fits(name, entry, node.type))
        detail = f"`{name}` does not apply to step {node.no}, which is a {node.type} step"
        return PlanRefusal(code="override_matches_nothing", detail=detail, where=pointer(index, name), step=node.no)
    criteria = entry.match.model_dump(mode="json", exclude_none=True)
    words = ", ".join(f"{name} {value}" for name, value in criteria.items())
    return PlanRefusal(
        code="override_matches_nothing",
        detail=f"no step from the fork on matches: {words}",
        where=pointer(index, "match"),
    )


def _refuse_conflicts(no: int, entries: list[tuple[int, Override]], refusals: list[PlanRefusal]) -> None:
    entry_by_field: dict[str, int] = {}
    for index, entry in entries:
        for name, path in _fields(index, entry):
            if name in entry_by_field:
                detail = f"step {no}: `{name}` is set by entry {entry_by_field[name]} and by entry {index}"
                refusals.append(PlanRefusal(code="override_conflict", detail=detail, where=path, step=no))
            entry_by_field.setdefault(name, index)


def _fields(index: int, entry: Override) -> Iterable[tuple[str, str]]:
    """Fields that an entry sets, with their pointers; `tool` and `output` both set the output."""
    for category in entry.sets:
        value = getattr(entry, category)
        if category in {"tool", "output"}:
            yield "output", pointer(index, category)
        elif category == "arguments":
            yield "arguments", pointer(index, category)
        elif category == "model":
            yield from ((f"model.{name}", path) for name, path in _model_fields(index, value))
        elif category == "messages":
            for at, edit in enumerate(value):
                yield from ((name, pointer(index, category, at)) for name in _edited_messages(edit))
        elif value is not None:
            for name in sorted(value.model_fields_set):
                yield f"{category}.{name}", pointer(index, category, name)


def _edited_messages(edit: MessageEdit) -> list[str]:
    """The message that an edit replaces or deletes, or its passages: different ones do not conflict."""
    if edit.passages is not None:
        return [f"messages[{edit.index}] “{passage.before}”" for passage in edit.passages]
    return [] if edit.op == "insert" else [f"messages[{edit.index}]"]


def _model_fields(index: int, value: ModelOverride | None) -> Iterable[tuple[str, str]]:
    """Request fields that an entry sets or unsets, by canonical name, with their pointers."""
    fields = sorted(value.model_fields_set) if value is not None else ()
    for name in fields:
        if name == "parameters":
            yield from ((field, pointer(index, "model", name, field)) for field in getattr(value, name) or ())
        elif name == "unset":
            names = getattr(value, name) or ()
            yield from ((canonical_name(field), pointer(index, "model", name, at)) for at, field in enumerate(names))
        else:
            yield name, pointer(index, "model", name)


def _merge(entries: list[tuple[int, Override]], type: StepType) -> Edits:
    prompt: JSONObject = {}
    model: JSONObject = {}
    retrieval: JSONObject = {}
    messages: list[MessageEdit] = []
    arguments: OverrideValue | None = None
    tool: ToolOverride | None = None
    output: OverrideValue | None = None
    for _, entry in entries:
        prompt |= _set_fields(entry.prompt, only="system" if type is StepType.MODEL else None)
        model = merge_settings(model, _set_fields(entry.model))
        retrieval |= _set_fields(entry.retrieval)
        messages += entry.messages or []
        arguments = OverrideValue(value=entry.arguments) if entry.arguments is not None else arguments
        tool = entry.tool or tool
        output = OverrideValue(value=entry.output) if "output" in entry.sets else output
    indexes = tuple(index for index, _ in entries)
    return Edits(
        entries=indexes,
        prompt=prompt,
        model=model,
        retrieval=retrieval,
        messages=tuple(messages),
        arguments=arguments,
        tool=tool,
        output=output,
    )


def _set_fields(
    value: PromptOverride | ModelOverride | RetrievalOverride | None, only: str | None = None
) -> JSONObject:
    """Fields that are set, including 0 and empty values; null means not overridden."""
    if value is None:
        return {}
    return {
        name: item
        for name, item in value.model_dump(mode="json", exclude_unset=True).items()
        if item is not None and only in {None, name}
    }


def changes_anything(overrides: OverrideProfile, policy: Policy) -> bool:
    """True if any step may have another label than exact."""
    return bool(overrides.overrides) or policy.order == "reexecute"
