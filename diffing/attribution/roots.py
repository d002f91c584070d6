"""Roots: changes that no earlier change explains, and possible reactions to earlier ones. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from diffing.attribution.consumed_places import continues_answer, head, heads, history_ends, input_paths
from diffing.attribution.difference_origins import (
    ChangedOutputs,
    FirstCalls,
    Origin,
    Words,
    has_edited_documents,
    window_origin,
)
from diffing.attribution.passages import OutsideTexts, Remark
from diffing.attribution.run_inputs import NO_INPUTS, RunInputs
from diffing.attribution.step_context import StepContext
from diffing.attribution.unexplained_changes import AGENT_SETTINGS, Atom, AtomSet, with_agent_places
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow
from diffing.compare.loop_limits import further_calls
from diffing.content.facet import SYSTEM_ROLES, TEMPLATES, WINDOW, Facet, category_of, is_filled_in
from diffing.content.message_diff import MessagePair, apart
from diffing.sequences.json_diff import value_changes
from diffing.sequences.text_diff import is_other_text
from diffing.sequences.word_hunks import hunks, with_hunks
from traces.core.json_access import text_or_json
from traces.core.vocabulary import StepType
from traces.payloads.step_summaries import one_line

# Steps that only pass on their input.
_PASSING: Final = frozenset({StepType.PROMPT, StepType.OUTPUT})
# The place of the system prompt in a request.
_OPENING: Final = "/messages/0"
_EXTERNAL: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})


@dataclass(frozen=True, kw_only=True, slots=True)
class Reaction:
    """A difference that may respond to an earlier one: a user's message, a template or its variables."""

    kind: Literal["user", "template", "variables"]
    pair: Pair


@dataclass(frozen=True, kw_only=True, slots=True)
class Roots:
    atoms: Sequence[Atom]
    reactions: Sequence[Reaction]


def roots(
    comparison: Comparison, facets: Mapping[int, Sequence[Facet]], flow: Flow, inputs: RunInputs = NO_INPUTS
) -> Roots:
    """The roots in order; a change that shows in many steps is one root."""
    changed_places = {pair.place for pair in comparison.differing if pair.answers_differently}
    tainted_places = flow.after({pair.place for pair in comparison.differing})
    outputs = ChangedOutputs(comparison)
    atom_set = AtomSet()
    reactions: list[Reaction] = []
    first_model = next((pair.place for pair in comparison.acting if pair.step.type == StepType.MODEL), None)
    known_prompts: dict[tuple[str, str, str], list[tuple[Facet, Origin]]] = {}
    words = _output_words(comparison, facets)
    outside = OutsideTexts(NO_INPUTS if comparison.derived else inputs)
    run_inputs = _run_inputs(comparison, outputs)
    first_calls = FirstCalls(comparison)
    further_models = frozenset() if comparison.derived else further_calls(comparison, flow)
    for pair in comparison.differing:
        if pair.place in comparison.resampled_places:
            new_atoms: Iterable[Atom] = (Atom(category="output", places=(pair.place,), pair=pair, is_sampled=True),)
        else:
            context = StepContext(
                is_tainted=pair.place in tainted_places,
                run_inputs=run_inputs,
                changed_sources=heads(
                    travel for travel in flow.incoming(pair.place) if travel.producer in changed_places
                ),
                all_sources=heads(flow.incoming(pair.place)),
                changed_paths=input_paths(pair, flow, changed_places),
                whole_changed_paths=input_paths(pair, flow, changed_places, whole=True),
                history_ends=history_ends(pair, flow),
                continues=first_calls.precede(pair),
                follows_call=outputs.calls_precede(pair),
                follows_output=not comparison.derived and outputs.precede(pair),
                further_message="" if comparison.derived else _further_message(pair, inputs, flow, words),
                is_left_to_code=not comparison.derived and outputs.leave_to_code(pair),
                is_past_limit=pair.place in further_models,
                is_replay=comparison.derived,
                follows_model=outputs.models_precede(pair),
                inputs=NO_INPUTS if comparison.derived else inputs,
                outside=outside,
                known_prompts=known_prompts,
                repeats_output=partial(words.repeats, pair),
                knows_words=partial(words.know, pair),
                is_later_talk=pair.place != first_model,
                is_renamed=_is_renamed(pair),
                runs_agent=not comparison.derived and pair.place in comparison.inner_ends,
                explains_result=partial(words.explain_result, pair),
                explains_most=partial(words.explains_most, pair),
                explains_some=partial(words.explains_some, pair),
                explains_part=partial(words.explains_part, pair),
                explains_with_equal=partial(words.explains_with_equal, pair),
                explains_all=partial(words.explains_all, pair),
                source_places=frozenset(travel.producer for travel in flow.incoming(pair.place)),
            )
            new_atoms = _own_changes(pair, facets.get(pair.place, ()), context)
            reactions += _reactions(pair, facets.get(pair.place, ()), context)
        for atom in new_atoms:
            atom_set.add(atom)
    return Roots(atoms=with_agent_places(comparison, outputs, atom_set.atoms), reactions=reactions)


def _output_words(comparison: Comparison, facets: Mapping[int, Sequence[Facet]]) -> Words:
    """The words of all outputs, and where these differ."""
    words = Words([pair for pair in comparison.acting if not pair.answers_differently], comparison.inner_ends)
    for pair in comparison.acting:
        for facet in facets.get(pair.place, ()):
            if facet.part == "output":
                words.add(pair, facet.base, facet.candidate)
    return words


def _run_inputs(comparison: Comparison, outputs: ChangedOutputs) -> frozenset[str]:
    """The texts that began the runs and their turns, without the tasks that code composed after a changed output."""
    if comparison.derived:
        return comparison.run_inputs
    composed_texts, other_texts = set[str](), set[str]()
    for pair in comparison.containers:
        is_composed = pair.step.type == StepType.AGENT and outputs.precede(pair)
        texts = composed_texts if is_composed else other_texts
        texts.update(step.summary for step in (pair.base, pair.candidate) if step is not None)
    return comparison.run_inputs - (composed_texts - other_texts)


def _further_message(pair: Pair, inputs: RunInputs, flow: Flow, words: Words) -> str:
    """What a user says at a step with which one run goes on, unless its messages repeat an earlier output.

    Nobody quotes an output that is not in the conversation: code composed such a message of it.
    """
    message = inputs.turns.get(pair.place, "")
    if not message or not continues_answer(pair, flow):
        return ""
    shown_places = {link.producer for link in flow.incoming(pair.place)}
    return "" if words.quotes(pair, message, shown_places) else message


def _own_changes(pair: Pair, facets: Sequence[Facet], context: StepContext) -> Iterator[Atom]:
    """Changes at this pair that no earlier change explains."""
    if pair.sides is None:
        message = context.further_message
        if context.is_past_limit:
            yield Atom(category="structure", places=(pair.place,), pair=pair, ends_loop=True)
        elif message or not context.is_tainted or context.is_left_to_code:
            origin = Origin.OPEN if message and context.follows_output else _order_origin(context)
            yield Atom(category="structure", places=(pair.place,), pair=pair, origin=origin, user_message=message)
        return
    input_facets = [facet for facet in facets if facet.part != "output"]
    # Template and variables of one prompt are one change: only the rendered text is used.
    for facet in input_facets[:1] if pair.step.type == StepType.PROMPT else input_facets:
        for own, origin in _own_parts(facet, context):
            yield Atom(
                category=category_of(own),
                places=(pair.place,),
                pair=pair,
                facet=own,
                origin=origin,
                input_place=_input_place(own, context),
            )
    for facet in [facet for facet in facets if facet.part == "output"][:1]:
        yield from _own_answers(pair, facet, input_facets, context)


def _own_answers(pair: Pair, facet: Facet, inputs: Sequence[Facet], context: StepContext) -> Iterator[Atom]:
    """Another answer that no earlier change explains."""
    has_other_input, same_query = bool(inputs), all(own.kind == "settings" for own in inputs)
    renders = pair.step.type == StepType.PROMPT and has_other_input
    passed_on = renders or (pair.step.type in _PASSING and bool(context.changed_paths))
    if context.runs_agent:
        if not context.explains_result(facet.base, facet.candidate):
            yield _answer_atom(pair, facet, Origin.DERIVED)
    elif not has_other_input and _has_same_request(pair):
        is_open = context.follows_call and pair.step.type in _EXTERNAL
        yield _answer_atom(pair, facet, Origin.OPEN if is_open else Origin.EXOGENOUS)
    elif (pair.overridden and not passed_on) or not (has_other_input or context.is_tainted):
        yield _answer_atom(pair, facet, Origin.EXOGENOUS if pair.overridden else _order_origin(context))
    elif has_edited_documents(facet, same_query=same_query):
        yield _answer_atom(pair, facet, Origin.OPEN)


def _input_place(facet: Facet, context: StepContext) -> int | None:
    """The run's input that messages, or a call by code, pass on with nothing else changed."""
    if facet.kind not in {"arguments", "query"}:
        return context.inputs.common_source(facet.messages)
    differences = hunks(text_or_json(facet.base), text_or_json(facet.candidate))
    places = {context.outside.source_of(hunk) for hunk in differences}
    return places.pop() if len(places) == 1 else None


def _is_renamed(pair: Pair) -> bool:
    roles = {step.role for step in pair.sides or ()}
    return len(roles) > 1 and "" not in roles


def _has_same_request(pair: Pair) -> bool:
    """True if the same recorded request was answered differently; no earlier output explains that."""
    is_recorded = all(step.input_ref for step in pair.sides or ())
    return is_recorded and pair.step.type in {StepType.MODEL, *_EXTERNAL} and "input" not in pair.changes


def _order_origin(context: StepContext) -> Origin:
    return Origin.DERIVED if context.follows_output else Origin.EXOGENOUS


def _answer_atom(pair: Pair, facet: Facet, origin: Origin) -> Atom:
    """An atom for a different answer to the same call: an override, a tool result, or a new sample."""
    is_sampled = pair.step.type == StepType.MODEL and not pair.overridden
    return Atom(
        category=facet.category,
        places=(pair.place,),
        pair=pair,
        facet=facet,
        is_sampled=is_sampled,
        overridden=pair.overridden,
        origin=Origin.EXOGENOUS if is_sampled else origin,
    )


def _own_parts(facet: Facet, context: StepContext) -> Iterator[tuple[Facet, Origin]]:
    """The facet, or those of its parts, that recorded data flow does not explain."""
    parts = _prompt_parts(facet, context) if facet.kind == "system prompt" else None
    if parts is not None:
        yield from parts
    elif facet.part == "config" or facet.kind in AGENT_SETTINGS:
        yield facet, _setting_origin(facet, context)
    elif facet.form == "messages":
        yield from _message_parts(facet, context)
    elif not context.is_tainted:
        yield facet, Origin.EXOGENOUS if _input_place(facet, context) is not None else _order_origin(context)
    elif facet.kind == "template" and not _comes_from_change(facet, context):
        yield facet, Origin.OPEN if context.follows_output else Origin.EXOGENOUS
    elif is_filled_in(facet) and not _repeats_outputs(facet, context):
        yield facet, Origin.DERIVED


def _message_parts(facet: Facet, context: StepContext) -> Iterator[tuple[Facet, Origin]]:
    """The differing messages by origin; one that code composed may have parts with different origins."""
    window_messages = tuple(item for item in facet.messages if _is_dropped(item, context))
    if window_messages:
        window = replace(facet, kind=WINDOW, messages=window_messages)
        yield window, window_origin(facet.messages, window_messages, follows_output=context.follows_output)
    other_messages = [item for item in facet.messages if item not in window_messages]
    for items in context.inputs.group(item for item in other_messages if not _is_in_history(item, context)):
        yield replace(facet, messages=items), Origin.EXOGENOUS
        other_messages = [item for item in other_messages if item not in items]
    if not context.is_replay:
        other_messages = [part for item in other_messages for part in _parts_of(item, context)]
    for source in dict.fromkeys(part.source for part in other_messages if part.source is not None):
        parts = tuple(part for part in other_messages if part.source == source)
        is_open = isinstance(source, Remark) and context.follows_output
        yield replace(facet, messages=parts), Origin.OPEN if is_open else Origin.EXOGENOUS
    for origin in Origin:
        own_messages = tuple(
            item for item in other_messages if item.source is None and _message_origin(item, context) is origin
        )
        groups = [own_messages] if origin is Origin.DERIVED else apart(own_messages)
        yield from ((replace(facet, messages=messages), origin) for messages in groups if messages)
        for item in own_messages if origin is Origin.EXOGENOUS else ():
            context.outside.add(item)


def _prompt_parts(facet: Facet, context: StepContext) -> list[tuple[Facet, Origin]] | None:
    """The differences of a system prompt besides values of changed steps; None if it contains no such values.

    A step that continues a conversation has the same difference as the one before it.
    """
    key = facet.pair.step.role, text_or_json(facet.base), text_or_json(facet.candidate)
    if key not in context.known_prompts and _OPENING in context.changed_paths:
        context.known_prompts[key] = list(_besides_changed_values(facet, context))
    return context.known_prompts.get(key)


def _parts_of(item: MessagePair, context: StepContext) -> list[MessagePair]:
    """The parts of a message's difference by source; one in the history was found there."""
    is_past = _is_in_history(item, context)
    return [item] if is_past else context.outside.divide(item, context.repeats_output, context.knows_words)


def _besides_changed_values(facet: Facet, context: StepContext) -> Iterator[tuple[Facet, Origin]]:
    """The differences of a system prompt besides the content that a changed step put into it."""
    texts = text_or_json(facet.base), text_or_json(facet.candidate)
    differences = hunks(*texts)
    own = tuple(hunk for hunk in differences if not context.repeats_output(hunk))
    if 0 < len(own) < len(differences):
        facet = replace(facet, candidate=with_hunks(texts[0], own, texts[1]), passages=own)
        yield facet, _setting_origin(facet, context)
        return
    if _OPENING in context.whole_changed_paths or context.explains_most(*texts):
        return
    yield facet, Origin.DERIVED if context.explains_some(*texts) else _setting_origin(facet, context)


def _setting_origin(facet: Facet, context: StepContext) -> Origin:
    """Origin of a prompt, a tool list or a model: set with the agent, or chosen by code."""
    if not context.follows_output or (facet.part == "config" and facet.kind != "model"):
        return Origin.EXOGENOUS
    texts = text_or_json(facet.base), text_or_json(facet.candidate)
    is_choice = context.is_renamed or (facet.kind == "system prompt" and is_other_text(*texts))
    uses_outputs = context.explains_most(*texts) or context.explains_with_equal(*texts)
    return Origin.DERIVED if is_choice or uses_outputs else Origin.OPEN


def _message_origin(item: MessagePair, context: StepContext) -> Origin | None:
    """The origin of a differing message; None if recorded data flow or the history explains it.

    The input of the run, before any answer, is exogenous. A later user message may be a person's.
    """
    if _is_in_history(item, context):
        return None
    if _is_in(item, context.changed_sources) or (context.is_tainted and _is_in(item, context.all_sources)):
        return None if _is_accounted_for(item, context) else Origin.DERIVED
    first = _is_input(item, context)
    if not context.follows_output or first:
        reacts = context.is_replay and context.is_tainted and not first and item.role not in SYSTEM_ROLES
        return None if reacts else Origin.EXOGENOUS
    is_composed = item.opening and (context.follows_model or context.is_later_talk)
    reply = item.role in SYSTEM_ROLES or (item.role == "user" and not is_composed)
    texts = item.base, item.candidate
    return (
        Origin.DERIVED if not reply or context.explains_most(*texts) or context.explains_part(*texts) else Origin.OPEN
    )


def _is_input(item: MessagePair, context: StepContext) -> bool:
    """True for the input of a run, a turn or an agent, unless it was composed of earlier answers."""
    is_input = item.opening and not context.run_inputs.isdisjoint(map(one_line, (item.base, item.candidate)))
    return is_input and not (context.follows_output and context.explains_all(item.base, item.candidate))


def _is_accounted_for(item: MessagePair, context: StepContext) -> bool:
    """True if differences of outputs that recorded data flow leads from explain all differences of a message.

    A link alone is no explanation: a text that contains an output's value may also contain what code made of others.
    Answers, and messages that only one run has, are passed on as they are. A replay inserts outputs along
    recorded data flow only.
    """
    if context.is_replay or item.role == "assistant" or item.op != "changed":
        return True
    return context.explains_all(item.base, item.candidate, places=context.source_places)


def _is_dropped(item: MessagePair, context: StepContext) -> bool:
    """True if only one side continues a conversation, and does so with this message.

    Nothing can be dropped from an agent's first request.
    """
    if context.is_replay or (item.base_index is None) == (item.candidate_index is None):
        return False
    side = int(item.base_index is None)
    index = item.candidate_index if side else item.base_index
    ends = context.history_ends
    return context.continues[1 - side] and index is not None and index <= ends[side] and ends[1 - side] < 0


def _is_in_history(item: MessagePair, context: StepContext) -> bool:
    """True if the message belongs to the continued conversation; its difference was found there."""
    sides = zip((item.base_index, item.candidate_index), context.history_ends, strict=True)
    return all(index is None or index <= last for index, last in sides)


def _reactions(pair: Pair, facets: Sequence[Facet], context: StepContext) -> Iterator[Reaction]:
    """Differences that `_own_parts` attributes to an earlier one on the order of the steps alone."""
    if not (context.is_tainted or context.follows_output) or pair.sides is None:
        return
    for facet in facets:
        if facet.kind in TEMPLATES and not _comes_from_change(facet, context):
            yield Reaction(kind="variables" if is_filled_in(facet) else "template", pair=pair)
        user_messages = (
            item for item in facet.messages if item.role == "user" and not _is_in(item, context.changed_sources)
        )
        if any(_message_origin(item, context) is not Origin.EXOGENOUS for item in user_messages):
            yield Reaction(kind="user", pair=pair)


def _repeats_outputs(facet: Facet, context: StepContext) -> bool:
    """True if all that differs in a prompt's variables differs in outputs that recorded data flow leads from."""
    texts = text_or_json(facet.base), text_or_json(facet.candidate)
    return context.is_replay or context.explains_all(*texts, places=context.source_places)


def _comes_from_change(facet: Facet, context: StepContext) -> bool:
    """True if all differences are content of a changed step, such as a variable."""
    paths = [head(change.path) for change in value_changes(facet.base, facet.candidate, limit=20)]
    return bool(paths) and context.changed_paths.issuperset(paths)


def _is_in(item: MessagePair, paths: frozenset[str]) -> bool:
    places = {f"/messages/{index}" for index in (item.base_index, item.candidate_index) if index is not None}
    return not paths.isdisjoint(places)
