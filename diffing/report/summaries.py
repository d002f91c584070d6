"""One or two sentences for each section, and the differences of the runs as wholes."""

from collections import Counter
from collections.abc import Callable, Sequence

from diffing.attribution.declared_config import declared_settings
from diffing.compare.comparison import Comparison
from diffing.compare.placeholders import untested_side
from diffing.compare.run_side import RunFacts, Side
from diffing.content.facet import Facet
from diffing.content.similarity import Likeness, reading
from diffing.report.scores import IMPORTED
from diffing.schemas.report import SectionItem, SectionName, ValueChange
from diffing.sentences import changes as phrases
from diffing.sentences import text
from diffing.sequences.json_diff import value_changes
from diffing.sequences.ranked_lists import compare as compare_ranks
from diffing.sequences.ranked_lists import rank_documents, rewritten_documents
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType

Compare = Callable[[str, str], Likeness]


def summarise(comparison: Comparison, facets: Sequence[Facet], likeness: Compare) -> dict[SectionName, str]:
    """What each section says at its head."""
    by_section: dict[SectionName, list[Facet]] = {}
    for facet in facets:
        by_section.setdefault(facet.section, []).append(facet)
    return {
        "prompt": _prompt(comparison, by_section.get("prompt", [])),
        "retrieval": _retrieval(comparison, by_section.get("retrieval", [])),
        "tool": _tool(comparison, by_section.get("tool", [])),
        "model": _model(comparison, by_section.get("model", [])),
        "output": _output(comparison, by_section.get("output", []), likeness),
        "run": _run(comparison),
    }


def totals(comparison: Comparison) -> list[SectionItem]:
    """Status, totals, labels and metadata of the two runs, as items of the run section."""
    base, candidate = comparison.base.run, comparison.candidate.run
    groups: dict[str, tuple[JSONObject, JSONObject]] = {
        "status": (_status(base), _status(candidate)),
        "totals": (_totals(comparison.base), _totals(comparison.candidate)),
        "labels": (dict(base.labels), dict(candidate.labels)),
    }
    if not comparison.derived:  # a replay has metadata of its own, which is no difference of what happened
        groups["configuration"] = (declared_settings(base), declared_settings(candidate))
        groups["metadata"] = (_metadata(base), _metadata(candidate))
    return [item for kind, (left, right) in groups.items() for item in _group(kind, left, right)]


def _group(kind: str, base: JSONObject, candidate: JSONObject) -> list[SectionItem]:
    changes = value_changes(base, candidate)
    if not changes:
        return []
    values = [ValueChange.model_validate(change._asdict()) for change in changes]
    said = "; ".join(phrases.value_note(change) for change in changes[:4])
    return [
        SectionItem(
            kind=kind,
            title=f"{text.capitalize(kind)}: {said}",
            relation="changed",
            base=None,
            candidate=None,
            values=values,
        )
    ]


def _status(run: RunFacts) -> JSONObject:
    return {"status": run.status}


def _totals(side: Side) -> JSONObject:
    run = side.run
    lasted = round(run.duration_ms, 1) if run.duration_ms is not None else None
    return {
        "steps": len(side.steps),
        "errors": run.error_count,
        "tokens in": run.tokens_in,
        "tokens out": run.tokens_out,
        "cost in USD": run.cost_usd,
        "duration in ms": lasted,
    }


def _metadata(run: RunFacts) -> JSONObject:
    elsewhere = {IMPORTED, *declared_settings(run)}
    kept: JSONObject = {key: value for key, value in run.metadata.items() if key not in elsewhere}
    return {**kept, "tags": list[JSONValue](sorted(run.tags))}


def _prompt(comparison: Comparison, facets: list[Facet]) -> str:
    texts = [facet for facet in facets if facet.form == "text"]
    if texts:
        return f"{phrases.facet_phrase(texts[0])}{_and_more(len(_distinct(texts)) - 1, 'other prompt text')}."
    if facets:
        return f"{phrases.facet_phrase(facets[0])}{_and_more(len(facets) - 1, 'other difference')}."
    asked = [pair for pair in comparison.pairs if pair.step.type in {StepType.MODEL, StepType.PROMPT}]
    if not asked:
        return "Neither run has a prompt."
    both = [pair for pair in asked if pair.sides and all(step.input_ref for step in pair.sides)]
    if not both:
        return "No prompts to compare: no request that both runs made is recorded on both sides."
    if any("input" in pair.changes for pair in both):
        return "The prompts are the same, but for what earlier steps answered, which the requests carry along."
    return "The prompts are the same."


def _retrieval(comparison: Comparison, facets: list[Facet]) -> str:
    found = [facet for facet in facets if facet.form == "ranks"]
    if found:
        counts: Counter[str] = Counter()
        for facet in found:
            counts.update(
                change.op
                for change in compare_ranks(rank_documents(facet.base), rank_documents(facet.candidate)).changes
            )
        counts["reworded"] = sum(len(rewritten_documents(facet.base, facet.candidate)) for facet in found)
        kinds = ("added", "removed", "moved", "reworded", "rescored")
        said = ", ".join(f"{counts[op]} {op}" for op in kinds if counts[op])
        return f"{_count(len(found), 'retrieval')} found other documents: {said}."
    if facets:
        return f"{phrases.facet_phrase(facets[0])}; the documents found are the same."
    unpaired = _unpaired(comparison, StepType.RETRIEVAL)
    if unpaired:
        return f"{unpaired}."
    return (
        "The documents found are the same."
        if _has(comparison, StepType.RETRIEVAL)
        else "Neither run retrieves documents."
    )


def _tool(comparison: Comparison, facets: list[Facet]) -> str:
    if not _has(comparison, StepType.TOOL):
        return "Neither run calls a tool."
    kinds = Counter(kind for kind, _ in {(facet.kind, facet.pair.place) for facet in facets})
    said = [
        f"{_count(kinds[kind], 'call')} with {words}"
        for kind, words in (
            ("arguments", "other arguments"),
            ("result", "another result"),
            ("status", "another outcome"),
        )
        if kinds[kind]
    ]
    unpaired = _unpaired(comparison, StepType.TOOL)
    said += [unpaired[:1].lower() + unpaired[1:]] if unpaired else []
    return f"{text.capitalize('; '.join(said))}." if said else "The same calls with the same results."


def _model(comparison: Comparison, facets: list[Facet]) -> str:
    if not _has(comparison, StepType.MODEL):
        return "Neither run calls a model."
    config = _distinct([facet for facet in facets if facet.part == "config"])
    said = [phrases.facet_phrase(facet) for facet in config[:2]]
    changed = {facet.pair.place for facet in facets if facet.part == "output"}
    paired = sum(bool(pair.sides) for pair in comparison.pairs if pair.step.type == StepType.MODEL)
    if paired:
        differ = "differs" if len(changed) == 1 else "differ"
        said.append(f"{len(changed)} of {_count(paired, 'answer')} {differ}" if changed else "the answers are the same")
    else:
        said.append("no answers to compare")
    unpaired = _unpaired(comparison, StepType.MODEL)
    said += [unpaired[:1].lower() + unpaired[1:]] if unpaired else []
    return f"{text.capitalize('; '.join(said))}."


def _output(comparison: Comparison, facets: list[Facet], likeness: Compare) -> str:
    answers = [facet for facet in facets if facet.kind == "final answer"]
    if answers:
        found = likeness(text.as_text(answers[-1].base), text.as_text(answers[-1].candidate))
        how = phrases.METHODS[found.method]
        return f"The final answers are {reading(found.score)} (likeness {found.score:.2f} of 1, {how})."
    final = comparison.final
    if final is None:
        return "Neither run has steps."
    if final.sides is None:
        return f"Only the {'base' if final.base else 'candidate'} has a final answer."
    return "The final answers differ." if final.answers_differently else "The final answers are the same."


def _run(comparison: Comparison) -> str:
    base, candidate = comparison.base.run, comparison.candidate.run
    said = [f"{base.status} → {candidate.status}" if base.status != candidate.status else f"Both {base.status}"]
    said.append(_more(len(comparison.candidate.steps) - len(comparison.base.steps), "step"))
    said.append(_more(candidate.tokens_in + candidate.tokens_out - base.tokens_in - base.tokens_out, "token"))
    if base.error_count or candidate.error_count:
        said.append(f"errors {base.error_count} → {candidate.error_count}{_untested(comparison)}")
    return f"{text.capitalize('; '.join(part for part in said if part))}."


def _untested(comparison: Comparison) -> str:
    """Which of the errors are fewer only because a replay did not run the step."""
    for pair in comparison.acting:
        if side := untested_side(pair.base, pair.candidate):
            other = pair.base if side == "candidate" else pair.candidate
            number = (other or pair.step).sequence_no
            return f" (step {number} failed in one run and was not run in the other, the {side})"
    return ""


def _more(difference: int, noun: str) -> str:
    if not difference:
        return f"as many {noun}s"
    return f"{_count(abs(difference), noun)} {'more' if difference > 0 else 'fewer'}"


def _unpaired(comparison: Comparison, kind: StepType) -> str:
    counts: Counter[str] = Counter(pair.relation for pair in comparison.pairs if pair.step.type == kind)
    nouns = {StepType.TOOL: "call", StepType.MODEL: "model call", StepType.RETRIEVAL: "retrieval"}
    noun = nouns.get(kind, "step")
    said = [
        f"{_count(counts[relation], noun)} {words}"
        for relation, words in (
            ("added", "only in the candidate"),
            ("removed", "only in the base"),
            ("moved", "in another place"),
        )
        if counts[relation]
    ]
    return ", ".join(said)


def _distinct(facets: Sequence[Facet]) -> list[Facet]:
    """One facet for each change, whichever steps it shows in."""
    kept: list[Facet] = []
    for facet in facets:
        if not any(
            (facet.kind, facet.base, facet.candidate) == (one.kind, one.base, one.candidate) for one in kept[-20:]
        ):
            kept.append(facet)
    return kept


def _has(comparison: Comparison, kind: StepType) -> bool:
    return any(pair.step.type == kind for pair in comparison.pairs)


def _and_more(count: int, noun: str) -> str:
    return f", and {_count(count, noun)}" if count > 0 else ""


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
