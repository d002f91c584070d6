"""Examination of two runs: comparison with payloads, and reasoning about the cause. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final

from diffing.attribution import reasoning
from diffing.attribution.difference_origins import ChangedOutputs
from diffing.attribution.reasoning import Reasoning
from diffing.attribution.run_inputs import RunInputs, labels_of_inputs, repeats_inputs
from diffing.compare.comparison import Comparison, Pair, compare
from diffing.compare.data_flow import Flow
from diffing.compare.run_side import Side
from diffing.content.facet import Facet, section_of
from diffing.content.facets import MissingPayload, Payloads, differs_in_form, facets, lost_parts
from diffing.content.payload_texts import message_text
from diffing.report import answers, scores
from diffing.report.gaps import step_gap, unavailable
from diffing.schemas.sections import SectionName, Unavailable
from diffing.sentences import summaries
from traces.core.json_access import as_object, as_objects
from traces.core.vocabulary import StepType
from traces.payloads.step_summaries import text_of
from traces.signatures.ignore_rules import IgnoreRules

# Differing pairs whose payloads are loaded, the earliest and the operator's overrides first.
MAX_LOADED: Final = 160
# Of these, the pairs from the end of the run, which contain the answers, and the overrides.
_LAST: Final = 20
# Stands for a message that has only images or files.
_NO_TEXT: Final = "…"

Load = Callable[[Collection[str]], Payloads]


@dataclass(frozen=True, kw_only=True)
class LoadedPairs:
    """The facets of the loaded pairs by place, and the pairs that could not be loaded."""

    facets: Mapping[int, list[Facet]]
    gaps: list[tuple[SectionName, Unavailable]]


@dataclass(frozen=True, kw_only=True)
class Examination:
    """The comparison of two runs with payloads; `probe` is the first model call of both, `inputs` where they differ."""

    comparison: Comparison
    loaded_pairs: LoadedPairs
    flow: Flow
    reasoning: Reasoning
    payloads: Payloads
    probe: Pair | None
    inputs: RunInputs


def examine(base: Side, candidate: Side, load: Load) -> Examination:
    """Align two runs, load the differing payloads and reason.

    `load` returns payloads by digest, in one call, without missing ones.
    """
    rough = compare(base, candidate)
    pairs = pairs_to_load(rough)
    probe = _first_model_pair(rough)
    containers, later_models = _containers_to_load(rough), _further_models(rough)
    payloads = load(
        _refs(pairs, probe, scores.interactions(rough)[: scores.INTERACTIONS])
        | answers.refs(rough)
        | {step.input_ref for pair in containers for step in pair.sides or ()} - {""}
        | {pair.step.input_ref for pair in later_models} - {""}
    )
    loaded_pairs = _load_facets(rough, pairs, payloads, base.ignoring)
    comparison = rough.with_changes(
        {place: _changes(pair_facets) for place, pair_facets in loaded_pairs.facets.items()}
    )
    flow = Flow(comparison)
    inputs = replace(
        _run_inputs(comparison, containers, payloads),
        labels=_labels(comparison, probe, payloads),
        turns={pair.place: text for pair in later_models if (text := _last_user_text(pair, payloads))},
    )
    return Examination(
        comparison=comparison,
        loaded_pairs=loaded_pairs,
        flow=flow,
        reasoning=reasoning.reason(comparison, loaded_pairs.facets, flow, inputs),
        payloads=payloads,
        probe=probe,
        inputs=inputs,
    )


def _containers_to_load(comparison: Comparison) -> list[Pair]:
    """The first agents and turns with different inputs."""
    containers = [pair for pair in comparison.containers if pair.sides and "input" in pair.changes]
    return containers[:MAX_LOADED]


def _run_inputs(comparison: Comparison, containers: Collection[Pair], payloads: Payloads) -> RunInputs:
    """The inputs that differ, without the tasks that code composed for an agent from changed answers."""
    outputs = ChangedOutputs(comparison)
    texts: dict[int, tuple[str, str]] = {}
    for pair in containers:
        if pair.sides is None:
            continue
        before, after = (text_of(payloads.get(step.input_ref)) for step in pair.sides)
        is_composed = pair.step.type == StepType.AGENT and outputs.precede(pair)
        if before != after and not (is_composed and not repeats_inputs(texts.values(), before, after)):
            texts[pair.place] = (before, after)
    return RunInputs(texts=texts)


def _labels(comparison: Comparison, probe: Pair | None, payloads: Payloads) -> frozenset[str]:
    """The labels that introduce an input of the runs in their first request."""
    requests = [as_object(payloads.get(step.input_ref)) for step in (probe.sides or () if probe else ())]
    messages = [message for request in requests for message in as_objects(request.get("messages"))]
    return labels_of_inputs(map(message_text, messages), comparison.run_inputs)


def _further_models(comparison: Comparison) -> list[Pair]:
    """The first model step of each run after all that both runs did."""
    common_pairs = [pair for pair in comparison.acting if pair.sides and pair.step.type != StepType.OUTPUT]
    last = max((pair.place for pair in common_pairs), default=-1)
    later_models = [pair for pair in comparison.of_type(StepType.MODEL) if pair.sides is None and pair.place > last]
    first_of_base = next((pair for pair in later_models if pair.base is not None), None)
    first_of_candidate = next((pair for pair in later_models if pair.candidate is not None), None)
    return [pair for pair in (first_of_base, first_of_candidate) if pair is not None]


def _last_user_text(pair: Pair, payloads: Payloads) -> str:
    """The text of the user's message that ends a model's request; empty if another message does."""
    messages = as_objects(as_object(payloads.get(pair.step.input_ref)).get("messages"))
    if not messages or messages[-1].get("role") != "user":
        return ""
    return message_text(messages[-1]) or _NO_TEXT


def pairs_to_load(comparison: Comparison) -> list[Pair]:
    """The differing pairs to load: overridden ones, the earliest, and the last, which contain the answers."""
    differing = [pair for pair in comparison.differing if pair.sides]
    differing = differing or [pair for pair in comparison.pairs if pair.sides and pair.differs]
    if len(differing) <= MAX_LOADED:
        return differing
    overrides = [pair for pair in differing if pair.overridden][:_LAST]
    places = {pair.place for pair in (*overrides, *differing[: MAX_LOADED - 2 * _LAST], *differing[-_LAST:])}
    return [pair for pair in differing if pair.place in places]


def _refs(pairs: Collection[Pair], probe: Pair | None, answers: Collection[scores.Interaction]) -> set[str]:
    refs = {ref for pair in pairs for ref in _differing_refs(pair)}
    refs |= {step.input_ref for step in probe.sides} if probe and probe.sides else set()
    refs |= {ref for turn in answers if turn.base != turn.candidate for ref in (turn.base, turn.candidate)}
    return refs - {""}


def _differing_refs(pair: Pair) -> Iterator[str]:
    """Payloads that differ between the sides, those of calls with equal signatures included."""
    for step, partner in permutations(pair.sides or ()):
        if step.input_ref != partner.input_ref:
            yield step.input_ref
        if step.output_ref != partner.output_ref:
            yield step.output_ref


def _load_facets(
    comparison: Comparison, pairs: Collection[Pair], payloads: Payloads, ignoring: IgnoreRules
) -> LoadedPairs:
    facets_by_place: dict[int, list[Facet]] = {}
    gaps: list[tuple[SectionName, Unavailable]] = []
    for pair in pairs:
        sections: dict[str, SectionName] = {
            "input": section_of(pair.step.type),
            "output": answers.section(pair, comparison.final),
        }
        try:
            facets_by_place[pair.place] = list(facets(pair, payloads, ignoring))
        except MissingPayload as missing:
            gaps.append(
                (sections[missing.part], step_gap(pair, summaries.missing_payload(missing.part, missing.missing_refs)))
            )
        gaps += [
            (sections[part], step_gap(pair, summaries.lost_part(part, digest)))
            for part, digest in lost_parts(pair, payloads)
        ]
    for section, count in _unloaded_counts(comparison, {pair.place for pair in pairs}).items():
        gaps.append((section, unavailable(summaries.more_steps(count, MAX_LOADED))))
    return LoadedPairs(facets=_without_last_forms(comparison, facets_by_place), gaps=gaps)


def _without_last_forms(comparison: Comparison, facets_by_place: Mapping[int, list[Facet]]) -> dict[int, list[Facet]]:
    """The facets without outputs that differ in form alone, and after which no step differs in content.

    Before a step that differs, the form of an output is a possible cause: code may have passed it on.
    """
    last_place = max(
        (
            pair.place
            for pair in comparison.differing
            if pair.place not in facets_by_place or not all(map(differs_in_form, facets_by_place[pair.place]))
        ),
        default=-1,
    )
    return {
        place: [facet for facet in pair_facets if place < last_place or not differs_in_form(facet)]
        for place, pair_facets in facets_by_place.items()
    }


def _unloaded_counts(comparison: Comparison, loaded_places: Collection[int]) -> Counter[SectionName]:
    """The number of differing pairs in each section whose payloads are not loaded."""
    return Counter(
        answers.section(pair, comparison.final)
        for pair in comparison.differing
        if pair.sides and not pair.is_container and pair.place not in loaded_places
    )


def _changes(pair_facets: Collection[Facet]) -> set[str]:
    """The changes of a pair that its payloads show; call ids, for example, are no difference."""
    names = {"input": "input", "output": "output", "config": "parameters"}
    return {names[facet.part] for facet in pair_facets if facet.kind not in {"status", "model"}}


def _first_model_pair(comparison: Comparison) -> Pair | None:
    return next((pair for pair in comparison.pairs if pair.sides and pair.step.type == StepType.MODEL), None)
