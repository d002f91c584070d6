"""Facts for the summary of each section, and the differences of the runs as wholes. Pure."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from diffing.attribution.declared_config import declared_settings
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.placeholders import untested_side
from diffing.compare.run_side import RunFacts, Side
from diffing.content.facet import Facet
from diffing.content.similarity import Likeness, reading
from diffing.report.answers import own_steps
from diffing.report.scores import IMPORTED_SCORES, token_difference
from diffing.schemas.sections import SectionItem, SectionName, ValueChange
from diffing.sentences import changes as phrases
from diffing.sentences import summaries
from diffing.sentences.notes import plain_text, value_note
from diffing.sentences.summaries import RunTotals, SectionState, UnpairedCounts
from diffing.sentences.text import display_text
from diffing.sentences.verdicts import RunSide
from diffing.sequences.json_diff import value_changes
from diffing.sequences.ranked_lists import compare as compare_ranks
from diffing.sequences.ranked_lists import rank_documents, rewritten_documents
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, StepType

Compare = Callable[[str, str], Likeness]
_NOUNS: Final = {StepType.TOOL: "call", StepType.MODEL: "model call", StepType.RETRIEVAL: "retrieval"}
# Changes of settings named in the summary of the models, and values named in the title of a group.
_NAMED_SETTINGS: Final = 2
_NAMED_VALUES: Final = 4
# Facets back to which an equal one is looked for.
_LOOK_BACK: Final = 20


def summarise(comparison: Comparison, facets: Sequence[Facet], likeness: Compare) -> dict[SectionName, str]:
    """The summary of each section."""
    by_section: dict[SectionName, list[Facet]] = {}
    for facet in facets:
        by_section.setdefault(facet.section, []).append(facet)
    return {
        "prompt": _prompt(comparison, by_section.get("prompt", [])),
        "retrieval": _retrieval(comparison, by_section.get("retrieval", [])),
        "tool": _tool(comparison, by_section.get("tool", [])),
        "model": _model(comparison, by_section.get("model", [])),
        "output": _output(comparison, by_section.get("output", []), likeness),
        "run": summaries.run_totals(_run_totals(comparison)),
    }


def totals(comparison: Comparison) -> list[SectionItem]:
    """Status, totals, labels and metadata of the two runs, as items of the run section."""
    base, candidate = comparison.base.run, comparison.candidate.run
    groups: dict[str, tuple[JSONObject, JSONObject]] = {
        "status": ({"status": base.status}, {"status": candidate.status}),
        "totals": _comparable(_totals(comparison.base), _totals(comparison.candidate)),
        "labels": (_labels(base), _labels(candidate)),
    }
    # The metadata of a replay always differs from its source's.
    if not comparison.derived:
        groups["configuration"] = (declared_settings(base), declared_settings(candidate))
        groups["metadata"] = (_metadata(base), _metadata(candidate))
    return [item for kind, (left, right) in groups.items() for item in _group(kind, left, right)]


def _group(kind: str, base: JSONObject, candidate: JSONObject) -> list[SectionItem]:
    changes = value_changes(base, candidate)
    if not changes:
        return []
    values = [ValueChange.model_validate(change._asdict()) for change in changes]
    title = summaries.group_title(kind, [plain_text(value_note(change)) for change in changes[:_NAMED_VALUES]])
    return [SectionItem(kind=kind, title=title, relation="changed", base=None, candidate=None, values=values)]


def _totals(side: Side) -> JSONObject:
    run = side.run
    duration = round(run.duration_ms, 1) if run.duration_ms is not None else None
    return {
        "steps": len(side.steps),
        "errors": run.error_count,
        "tokens in": None if side.tokens is None else run.tokens_in,
        "tokens out": None if side.tokens is None else run.tokens_out,
        "cost in USD": run.cost_usd,
        "duration in ms": duration,
    }


def _comparable(base: JSONObject, candidate: JSONObject) -> tuple[JSONObject, JSONObject]:
    """Return what is known of both runs: one that is unknown is not known to differ."""
    names = [name for name in base if base[name] is not None and candidate[name] is not None]
    return {name: base[name] for name in names}, {name: candidate[name] for name in names}


def _labels(run: RunFacts) -> JSONObject:
    """Number of steps per label. A step that no replay made is called recorded, as everywhere for readers."""
    return {"recorded" if label == Label.LIVE else label: count for label, count in run.labels.items()}


def _metadata(run: RunFacts) -> JSONObject:
    other_groups = {IMPORTED_SCORES, *declared_settings(run)}
    metadata: JSONObject = {key: value for key, value in run.metadata.items() if key not in other_groups}
    return {**metadata, "tags": list[JSONValue](sorted(run.tags))}


def _prompt(comparison: Comparison, facets: list[Facet]) -> str:
    texts = [facet for facet in facets if facet.form == "text"]
    if texts:
        return summaries.prompt_changes(phrases.facet_phrase(texts[0]), len(_distinct(texts)) - 1, is_text=True)
    if facets:
        return summaries.prompt_changes(phrases.facet_phrase(facets[0]), len(facets) - 1, is_text=False)
    return summaries.section_state(_prompt_state(comparison))


def _prompt_state(comparison: Comparison) -> SectionState:
    pairs = [*comparison.of_type(StepType.MODEL), *comparison.of_type(StepType.PROMPT)]
    if not pairs:
        return SectionState.NO_PROMPTS
    if any("input" in pair.changes and _has_prompts(pair) for pair in pairs):
        return SectionState.SAME_PROMPTS_OTHER_HISTORY
    return SectionState.SAME_PROMPTS if any(map(_has_prompts, pairs)) else SectionState.UNRECORDED_PROMPTS


def _has_prompts(pair: Pair) -> bool:
    """True if the inputs of both sides are recorded."""
    return pair.sides is not None and all(step.input_ref for step in pair.sides)


def _retrieval(comparison: Comparison, facets: list[Facet]) -> str:
    ranks = [facet for facet in facets if facet.form == "ranks"]
    if ranks:
        return summaries.document_changes(len(ranks), _document_counts(ranks))
    if facets:
        return summaries.same_documents(phrases.facet_phrase(facets[0]))
    unpaired_clause = summaries.unpaired_steps(_unpaired_counts(comparison, StepType.RETRIEVAL))
    if unpaired_clause:
        return f"{unpaired_clause}."
    has_retrieval = bool(comparison.of_type(StepType.RETRIEVAL))
    return summaries.section_state(SectionState.SAME_DOCUMENTS if has_retrieval else SectionState.NO_RETRIEVALS)


def _document_counts(facets: Sequence[Facet]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for facet in facets:
        ranks = compare_ranks(rank_documents(facet.base), rank_documents(facet.candidate))
        counts.update(change.op for change in ranks.changes)
    counts["reworded"] = sum(len(rewritten_documents(facet.base, facet.candidate)) for facet in facets)
    return counts


def _tool(comparison: Comparison, facets: list[Facet]) -> str:
    if not comparison.of_type(StepType.TOOL):
        return summaries.section_state(SectionState.NO_TOOLS)
    counts = Counter(kind for kind, _ in {(facet.kind, facet.pair.place) for facet in facets})
    changes = summaries.tool_changes(counts, _unpaired_counts(comparison, StepType.TOOL))
    return changes or summaries.section_state(SectionState.SAME_CALLS)


def _model(comparison: Comparison, facets: list[Facet]) -> str:
    pairs = comparison.of_type(StepType.MODEL)
    if not pairs:
        return summaries.section_state(SectionState.NO_MODELS)
    settings = _distinct([facet for facet in facets if facet.part == "config"])
    return summaries.model_changes(
        [phrases.facet_phrase(facet) for facet in settings[:_NAMED_SETTINGS]],
        len({facet.pair.place for facet in facets if facet.part == "output"}),
        sum(pair.sides is not None for pair in pairs),
        _unpaired_counts(comparison, StepType.MODEL),
    )


def _output(comparison: Comparison, facets: list[Facet], likeness: Compare) -> str:
    answers = [facet for facet in facets if facet.kind == "final answer"]
    if answers:
        similarity = likeness(display_text(answers[-1].base), display_text(answers[-1].candidate))
        return summaries.answer_similarity(reading(similarity.score), similarity.score, similarity.method)
    final = comparison.final
    if final is None:
        return summaries.section_state(SectionState.NO_STEPS)
    if final.sides is None:
        return summaries.only_answer("base" if final.base else "candidate")
    # Of the final pair, contents were compared: citations in another order are the same.
    compared_refs = {step.output_ref for step in final.sides}
    refs = {step.output_ref for step in own_steps(comparison) if step is not None}
    differ = final.answers_differently or (len(refs) > 1 and not refs <= compared_refs)
    return summaries.section_state(SectionState.ANSWERS_DIFFER if differ else SectionState.SAME_ANSWERS)


def _run_totals(comparison: Comparison) -> RunTotals:
    base, candidate = comparison.base.run, comparison.candidate.run
    return RunTotals(
        base_status=base.status,
        candidate_status=candidate.status,
        steps=len(comparison.candidate.steps) - len(comparison.base.steps),
        tokens=token_difference(comparison),
        base_errors=base.error_count,
        candidate_errors=candidate.error_count,
        untested_step=_untested_step(comparison),
    )


def _untested_step(comparison: Comparison) -> tuple[int, RunSide] | None:
    """The first failed step that one side did not run, so that it has fewer errors without a fix."""
    for pair in comparison.acting:
        side = untested_side(pair.base, pair.candidate)
        if side == "candidate":
            return (pair.base or pair.step).sequence_no, "candidate"
        if side == "base":
            return (pair.candidate or pair.step).sequence_no, "base"
    return None


def _unpaired_counts(comparison: Comparison, step_type: StepType) -> UnpairedCounts:
    counts = Counter(pair.relation for pair in comparison.of_type(step_type))
    return UnpairedCounts(
        noun=_NOUNS[step_type], candidate_only=counts["added"], base_only=counts["removed"], moves=counts["moved"]
    )


def _distinct(facets: Sequence[Facet]) -> list[Facet]:
    """One facet for each change, however many steps it shows in."""
    distinct: list[Facet] = []
    for facet in facets:
        identity = (facet.kind, facet.base, facet.candidate)
        if not any(identity == (item.kind, item.base, item.candidate) for item in distinct[-_LOOK_BACK:]):
            distinct.append(facet)
    return distinct
