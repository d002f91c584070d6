"""The changes between two separate recordings: the roots that attribution found, as overrides. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, get_args

from diffing.attribution import reasoning
from diffing.attribution.difference_origins import Origin, has_edited_documents
from diffing.attribution.unexplained_changes import Atom as Root
from diffing.compare.placeholders import FAILED
from diffing.compare.references import step_ref
from diffing.content.facet import WINDOW, Facet
from diffing.report.examination import Examination
from diffing.sentences.atoms import titles
from diffing.sentences.atoms.obstacles import Obstacle, obstacle
from replay.overrides.profile import CallEnd
from replay.proofs.changes.atoms import Absent, Change
from replay.proofs.changes.certificates import certify
from replay.proofs.changes.code_origins import with_common_origins
from replay.proofs.changes.echoes import with_echoes
from replay.proofs.changes.message_edits import context_window, message_list, message_roots, system_prompt
from replay.proofs.changes.overrides import Load, RunPair, number, override_change, set_to, untestable
from replay.proofs.changes.relays import relay
from replay.proofs.changes.unpaired_steps import lone_steps
from replay.proofs.core.types import Atom
from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType

_SPELLINGS: Final = {"max_completion_tokens": "max_tokens", "stop_sequences": "stop"}
_RETRIEVAL: Final = frozenset({"query", "top_k", "filters", "embedding_profile"})
_PROMPT: Final = ("template", "template_id", "version", "variables")
_ENDS: Final = frozenset(get_args(CallEnd))


def roots(examination: Examination, load: Load = lambda refs: {}) -> list[Change]:
    """Every root as a change, with a reason if no replay can test it."""
    runs = RunPair(examination=examination, load=load)
    ranks = _ranks(examination)
    lone = [
        root for root, _ in ranks if root.facet is None and not root.is_sampled and root.origin is not Origin.DERIVED
    ]
    changes: dict[str, tuple[Root, Change]] = {}
    lone_changes = {id(root): change for root, change in lone_steps(runs, lone)}
    for root, rank in ranks:
        own = [(root, lone_changes[id(root)])] if id(root) in lone_changes else _own_changes(runs, root)
        for index, (part, change) in enumerate(own):
            order = (*rank, reasoning.PRIORITY.index(change.atom.category), root.places[0], index)
            atom = replace(change.atom, rank=order, certificate=certify(examination, root.places))
            changes.setdefault(atom.id, (part, replace(change, atom=atom)))
    if answer := _composed_answer(examination):
        change = untestable(answer, Obstacle.LAST_ANSWER)
        changes[change.atom.id] = (answer, replace(change, atom=replace(change.atom, is_by_code=True)))
    found_roots = [root for root, _ in changes.values()]
    echo_changes = with_echoes(changes.values(), runs)
    own_changes = with_common_origins(zip(found_roots, echo_changes, strict=True), examination.comparison.run_inputs)
    return _add_requirements(_separate([*own_changes, *_unread_input(examination, found_roots)]))


def _unread_input(examination: Examination, roots: Sequence[Root]) -> Iterator[Change]:
    """The input of the runs if it differs and nothing passes it on: then only code reads it."""
    comparison, texts = examination.comparison, examination.inputs.texts
    place = min(texts, default=None)
    if comparison.derived or place is None or any(root.input_place == place for root in roots):
        return
    pair, (before, after) = comparison.pairs[place], texts[place]
    atom = Atom(
        id=f"input-{place}",
        category="upstream",
        title=titles.run_input(before, after),
        description=titles.step_location(pair.step.sequence_no, pair.step.type, 0),
        why_not=obstacle(Obstacle.READ_BY_CODE),
        is_input=True,
        texts=((before, after),),
        base=step_ref(pair.base),
        candidate=step_ref(pair.candidate),
    )
    yield Change(atom=atom)


def _composed_answer(examination: Examination) -> Root | None:
    """The difference of a final answer that code composed of equal outputs, in other words; None if any differs."""
    comparison, final = examination.comparison, examination.comparison.final
    if comparison.derived or final is None or final.sides is None or final.step.type is not StepType.OUTPUT:
        return None
    other_pairs = [pair for pair in comparison.differing if pair.answers_differently and pair is not final]
    facets = [facet for facet in examination.loaded_pairs.facets.get(final.place, ()) if facet.part == "output"]
    has_models = any(pair.sides for pair in comparison.of_type(StepType.MODEL))
    if other_pairs or not facets or not final.answers_differently or not has_models:
        return None
    return Root(category="output", places=(final.place,), pair=final, facet=facets[0])


def _ranks(examination: Examination) -> list[tuple[Root, tuple[int, int]]]:
    attribution = examination.reasoning
    return [
        *((atom, (0, 0)) for atom in (attribution.primary, *attribution.rivals) if atom is not None),
        *((atom, (0, 1)) for atom in attribution.later),
        *((atom, (1, 0)) for atom in attribution.exclusions),
    ]


def _own_changes(runs: RunPair, root: Root) -> list[tuple[Root, Change]]:
    """The changes of a root, each with the part of the root that it is."""
    is_divisible = not root.is_sampled and root.origin is not Origin.DERIVED
    parts = message_roots(runs, root) if is_divisible else [root]
    return [(part, change) for part in parts for change in _changes(runs, part)]


def _changes(runs: RunPair, root: Root) -> Iterable[Change]:
    if root.is_sampled:
        return [untestable(root, Obstacle.ONLY_CHANCE)]
    if root.origin is Origin.DERIVED:
        is_template = root.facet is not None and _READERS.get(root.facet.kind) is _prompt
        return [relay(runs, root, *(_prompt(runs, root) if is_template else ()))]
    # Such a step is part of the change of another step that reaches the same input.
    if root.facet is None:
        return []
    if root.pair.step.type == StepType.OUTPUT:
        return [untestable(root, Obstacle.LAST_ANSWER)]
    return _READERS.get(root.facet.kind, _outputs)(runs, root)


def _model(runs: RunPair, root: Root) -> Iterator[Change]:
    # The caller has checked it.
    assert root.facet is not None
    yield set_to(runs, root, "model", "model", root.facet.base, root.facet.candidate)


def _schemas(runs: RunPair, root: Root) -> Iterator[Change]:
    left, right = (as_object(value).get("tools") for value in runs.inputs(root.pair))
    change = set_to(runs, root, "model", "tools", left, right)
    yield _rekeying(change) if _names(left) != _names(right) else change


def _rekeying(change: Change) -> Change:
    return replace(change, atom=replace(change.atom, rekeys=True))


def _parameters(runs: RunPair, root: Root) -> Iterator[Change]:
    """One change for each parameter; one that a run does not set is left out of its request."""
    requests = [as_object(value) for value in runs.inputs(root.pair)]
    left, right = ({**as_object(request.get("parameters")), **_format(request)} for request in requests)
    facets = [as_object(side) for side in ((root.facet.base, root.facet.candidate) if root.facet else ())]
    own = [as_object(request.get("parameters")) for request in requests]
    # A first parameter is rather an edit. That all of several are new is rather another way to record them.
    is_unrecorded = not all(own) and max(map(len, own)) > 1
    facet_names = {name for side in facets for name in side if facets[0].get(name) != facets[1].get(name)}
    for name in sorted({*left, *right} | facet_names):
        if name not in {*left, *right}:
            yield untestable(root, Obstacle.NOT_IN_REQUEST, title=titles.request_field(name), name=name)
        elif left.get(name) != right.get(name):
            title = titles.setting(name, left.get(name), right.get(name))
            if is_unrecorded and any(name in parameters for parameters in own):
                yield untestable(root, Obstacle.PARAMETERS_UNRECORDED, title=title, name=name)
                continue
            setting = _SPELLINGS.get(name, name)
            yield set_to(runs, root, "model", setting, left.get(name), right.get(name), title=title)


def _format(request: JSONObject) -> JSONObject:
    return {"response_format": request["response_format"]} if request.get("response_format") is not None else {}


def _settings(runs: RunPair, root: Root) -> Iterator[Change]:
    """One change for each setting of a search; those that no override accepts are tested by their results."""
    left, right = (as_object(value) for value in runs.inputs(root.pair))
    names = [name for name in sorted({*left, *right}) if left.get(name) != right.get(name)]
    is_query = root.facet is not None and root.facet.kind == "query"
    own = [name for name in names if (name == "query") == is_query]
    has_edit, is_beside = _has_edit(runs, root), _has_edit(runs, root, is_beside=True)
    settable = [name for name in own if name in _RETRIEVAL and None not in (left.get(name), right.get(name))]
    for name in settable:
        title = titles.setting(name, left.get(name), right.get(name))
        if is_beside:
            yield untestable(root, Obstacle.SAME_PLACE, title=title, name=name)
        else:
            yield set_to(runs, root, "retrieval", name, left[name], right[name], title=title)
    if len(settable) < len(own):
        title = titles.other_settings(root.pair.step.display_name)
        yield (
            untestable(root, Obstacle.SAME_PLACE if has_edit else Obstacle.SEVERAL_SETTINGS, title=title, name="others")
            if settable or has_edit
            else _answers(runs, root)
        )


def _has_edit(runs: RunPair, root: Root, *, is_beside: bool = False) -> bool:
    """True if a search with other settings found documents with edited texts: no run recorded one without the other.

    `is_beside`: only if one search also found documents that the other has not.
    """
    facets = runs.examination.loaded_pairs.facets.get(root.pair.place, ())
    if {facet.kind for facet in facets if facet.part != "output"} != {"settings"}:
        return False
    edits = (facet for facet in facets if has_edited_documents(facet, same_query=True))
    return any(not (is_beside and has_edited_documents(facet)) for facet in edits)


def _arguments(runs: RunPair, root: Root) -> Iterator[Change]:
    """The changed arguments of a call by the agent's code; with those of the other side, it gets that side's answer."""
    left, right = runs.inputs(root.pair)
    if left is None or right is None:
        yield untestable(root, Obstacle.ARGUMENTS_UNRECORDED)
    else:
        yield _rekeying(set_to(runs, root, "arguments", "", left, right))


def _prompt(runs: RunPair, root: Root) -> Iterator[Change]:
    """Template, version and variables as one change; if one run does not record them, the rendered prompt."""
    left, right = (as_object(value) for value in runs.inputs(root.pair))
    names = [name for name in _PROMPT if left.get(name) != right.get(name)]
    if not names or any(left.get(name) is None or right.get(name) is None for name in names):
        yield _answers(runs, root)
    else:
        values: list[JSONValue] = [{name: side[name] for name in names} for side in (left, right)]
        yield set_to(runs, root, "prompt", "*", *values)


def _documents(runs: RunPair, root: Root) -> Iterator[Change]:
    facet = root.facet
    if facet is None or facet.base is None or facet.candidate is None:
        yield from _outputs(runs, root)
        return
    if _has_edit(runs, root, is_beside=True):
        yield _text_edits(runs, root, facet)
    else:
        yield set_to(runs, root, "retrieval", "documents", facet.base, facet.candidate)


def _text_edits(runs: RunPair, root: Root, facet: Facet) -> Change:
    """The edited texts of the documents that both searches found; each side keeps the others that it found."""
    entries: list[list[JSONObject]] = []
    for side, (own, other) in enumerate(((facet.base, facet.candidate), (facet.candidate, facet.base))):
        texts_there = {str(document["id"]): document for document in as_objects(other)}
        documents: list[JSONValue] = [texts_there.get(str(document["id"]), document) for document in as_objects(own)]
        entries.append([{"match": {"step": number(root.pair, side)}, "retrieval": {"documents": documents}}])
    return override_change(root, *entries)


def _outputs(runs: RunPair, root: Root) -> Iterator[Change]:
    yield _output(runs, root)


def _output(runs: RunPair, root: Root) -> Change:
    """A different answer from outside: of a tool, an operator or code."""
    base, candidate = root.pair.sides or (None, None)
    if base is None or candidate is None:
        return untestable(root, Obstacle.ONE_RUN_ONLY)
    if any(step.status not in FAILED and not step.output_ref for step in (base, candidate)):
        return untestable(root, Obstacle.OUTPUT_UNRECORDED)
    left, right = runs.outputs(root.pair)
    if root.pair.step.type is not StepType.TOOL:
        if left == right:
            return untestable(root, Obstacle.SAME_OUTPUT)
        return set_to(runs, root, "output", "", left, right)
    if not {base.status, candidate.status} <= _ENDS:
        return untestable(root, Obstacle.CALL_UNFINISHED)
    answers: list[JSONValue] = [
        {"output": value, "status": str(side.status)}
        for value, side in zip((left, right), (base, candidate), strict=True)
    ]
    change = set_to(runs, root, "tool", "", *answers)
    return replace(change, atom=replace(change.atom, fails=(base.status in FAILED) != (candidate.status in FAILED)))


def _answers(runs: RunPair, root: Root) -> Change:
    """A change of the steps' outputs: whatever was changed about the steps, only their outputs affect others."""
    on_base: list[JSONObject] = []
    on_candidate: list[JSONObject] = []
    for place in root.places:
        pair = runs.pairs[place]
        left, right = runs.outputs(pair)
        if pair.sides is not None and left != right:
            on_base.append({"match": {"step": number(pair, 0)}, "output": right})
            on_candidate.append({"match": {"step": number(pair, 1)}, "output": left})
    return override_change(root, on_base, on_candidate) if on_base else untestable(root, Obstacle.SAME_OUTPUT)


_READERS: Final[Mapping[str, Callable[[RunPair, Root], Iterable[Change]]]] = {
    "system prompt": system_prompt,
    "message list": message_list,
    WINDOW: context_window,
    "model": _model,
    "tool schemas": _schemas,
    "parameters": _parameters,
    "settings": _settings,
    "query": _settings,
    "arguments": _arguments,
    "template": _prompt,
    "template version and variables": _prompt,
    "documents": _documents,
}


def _separate(changes: Sequence[Change]) -> list[Change]:
    """Changes of the same field of the same step cannot be separated: only the first one is testable."""
    places: set[str] = set()
    separate_changes: list[Change] = []
    for change in changes:
        own = set[str]() if change.atom.is_relay else _change_places(change)
        if own & places:
            change = Change(atom=replace(change.atom, why_not=obstacle(Obstacle.SAME_PLACE)))
        places |= own
        separate_changes.append(change)
    return separate_changes


def _change_places(change: Change) -> set[str]:
    """The places that a change sets on the base."""
    value = None if isinstance(change.candidate, Absent) else change.candidate
    entries = change.apply_overrides or tuple(slot.entry(value) for slot in change.on_base)
    return {f"{entry['match']} {place}" for entry in entries for place in _places(entry)}


def _places(entry: JSONObject) -> Iterator[str]:
    """The fields of a step that an override sets, and the messages that it edits."""
    for category, value in entry.items():
        if category == "messages":
            yield from (name for edit in as_objects(value) for name in _edited_messages(edit))
        elif category in {"prompt", "model", "retrieval"}:
            yield from (f"{category} {name}" for name in _fields(as_object(value)))
        elif category != "match":
            yield "output" if category == "tool" else category


def _edited_messages(edit: JSONObject) -> Iterator[str]:
    """The message that an edit replaces or deletes, or its passages."""
    if edit.get("op") != "insert":
        message = f"message {edit.get('index')}"
        passages = as_objects(edit.get("passages"))
        yield from [f"{message} {passage['before']}" for passage in passages] if passages else [message]


def _fields(value: JSONObject) -> Iterator[str]:
    for name, item in value.items():
        if name == "parameters":
            yield from as_object(item)
        elif name == "unset" and isinstance(item, list):
            yield from map(str, item)
        else:
            yield name


def _add_requirements(changes: Sequence[Change]) -> list[Change]:
    """A prompt that mentions a tool has no meaning unless the tool is offered."""
    tool_changes = [change for change in changes if _field(change) == "tools"]
    prompts = [change for change in changes if _field(change) == "system"]
    requires: dict[str, set[str]] = {}
    for schemas in tool_changes:
        before_names, after_names = _names(schemas.base), _names(schemas.candidate)
        for prompt in prompts:
            before, after = str(prompt.base), str(prompt.candidate)
            if any(_mentions(after, name) and not _mentions(before, name) for name in after_names - before_names):
                requires.setdefault(prompt.atom.id, set()).add(schemas.atom.id)
            if any(_mentions(before, name) and not _mentions(after, name) for name in before_names - after_names):
                requires.setdefault(schemas.atom.id, set()).add(prompt.atom.id)
    return [
        replace(change, atom=replace(change.atom, requires=frozenset(requires.get(change.atom.id, ()))))
        for change in changes
    ]


def _field(change: Change) -> str:
    return change.on_base[0].field if change.on_base and change.atom.testable else ""


def _names(tools: object) -> set[str]:
    return {str(tool["name"]) for tool in as_objects(tools) if tool.get("name")}


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
