"""The brief of a report: the facts for its first lines. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from diffing.compare.placeholders import MARK
from diffing.report.evidence import deciding_evidence, has_proved, replay_counts, skipped_replays
from diffing.report.run_outcomes import acting_pairs, compared_line, step_label
from diffing.schemas.evidence import Evidence, EvidenceVerdict, GateStatus
from diffing.schemas.report import Attribution, Brief, DiffReport
from diffing.schemas.sections import AlignedPair
from diffing.schemas.terms import AttributionVerdict, Confidence
from diffing.sentences import briefs, headlines
from diffing.sentences.briefs import Certainty, ChanceOdds, IdleStep, NextKind, Observation, Proof, StepCounts
from diffing.sentences.proofs import repeat_rate
from diffing.sentences.summaries import Recordable
from diffing.sentences.verdicts import Changes
from diffing.sequences.text_diff import shorten

# Changes named in a line, and characters quoted of an answer.
_NAMED_CHANGES: Final = 3
_QUOTE: Final = 90
# If a sentence contains this many characters of an answer, it quotes it.
_QUOTED_PREFIX: Final = 20
# Steps named in a warning.
_NAMED_STEPS: Final = 3
# Below this p, repeats rule out chance.
_RULED_OUT: Final = 0.01
_PROOFS: Final[Mapping[tuple[str, str], Proof]] = {
    (EvidenceVerdict.SINGLE, "high"): Proof.BOTH_WAYS,
    (EvidenceVerdict.JOINT, "medium"): Proof.JOINT,
    (EvidenceVerdict.OVER_DETERMINED, "medium"): Proof.SEVERAL_CAUSES,
    (EvidenceVerdict.NOISE, "noise"): Proof.CHANCE,
}
_CERTAINTIES: Final[Mapping[Confidence | None, Certainty]] = {
    "high": Certainty.HIGH,
    "medium": Certainty.MEDIUM,
    "low": Certainty.LOW,
    "noise": Certainty.NO_CAUSE,
}


def lead(attribution: Attribution) -> str:
    """The first sentence of a report: its headline, which quotes no answers, if it has one."""
    return headlines.text(attribution.headline) if attribution.headline else attribution.sentence


def brief(report: DiffReport) -> Brief:
    """The first lines of a report."""
    return Brief(
        compared=compared_line(report),
        changed=_changed(report),
        confidence=_certainty(report.attribution).value,
        why=" ".join(_reasons(report)),
        next=_next(report),
    )


def _changed(report: DiffReport) -> str:
    attribution = report.observed or report.attribution
    if attribution.verdict == AttributionVerdict.NO_DIFFERENCE:
        has_settings = any(item.kind == "configuration" for item in report.sections.run.items)
        return briefs.ONLY_CONFIGURATION if has_settings else briefs.NO_CHANGE
    causes = [cause for cause in (attribution.primary, *attribution.alternatives) if cause is not None]
    causes += attribution.supporting if attribution.verdict == AttributionVerdict.NO_EFFECT else []
    titles = [cause.title for cause in causes]
    changes = Changes(titles=tuple(titles[:_NAMED_CHANGES]), more=max(0, len(titles) - _NAMED_CHANGES))
    return briefs.changed(changes, _step_counts(report.pairs), _unquoted_answers(report))


def _unquoted_answers(report: DiffReport) -> tuple[str, str] | None:
    """The two final answers, unless the report's sentence quotes them or one has a placeholder."""
    texts = [item.text for item in report.sections.output.items if item.text is not None]
    if not texts:
        return None
    base, candidate = (
        "".join(span.text for span in texts[-1].spans if span.op in {"equal", op}) for op in ("delete", "insert")
    )
    if " ".join(candidate.split())[:_QUOTED_PREFIX] in report.attribution.sentence or MARK in base + candidate:
        return None
    return shorten(base, _QUOTE), shorten(candidate, _QUOTE)


def _step_counts(pairs: list[AlignedPair]) -> StepCounts:
    counts = Counter(pair.relation for pair in acting_pairs(pairs))
    return StepCounts(
        pairs=counts["same"] + counts["changed"] + counts["moved"],
        differing=counts["changed"],
        moves=counts["moved"],
        base_only=counts["removed"],
        candidate_only=counts["added"],
    )


def _certainty(attribution: Attribution) -> Certainty:
    if attribution.verdict in {AttributionVerdict.NO_DIFFERENCE, AttributionVerdict.NO_EFFECT}:
        return Certainty.NOTHING_TO_EXPLAIN
    if attribution.verdict == AttributionVerdict.INCONCLUSIVE:
        return Certainty.OPEN if attribution.alternatives else Certainty.NO_CAUSE
    return _CERTAINTIES.get(attribution.confidence, Certainty.NO_CAUSE)


def _reasons(report: DiffReport) -> Iterator[str]:
    evidence = deciding_evidence(report.evidence)
    if evidence is not None:
        yield from _proof(evidence)
    else:
        yield _observation(report)
        if report.evidence:
            yield briefs.open_proof(report.evidence[-1].rule)
    if report.attribution.verdict not in {AttributionVerdict.NO_DIFFERENCE, AttributionVerdict.NO_EFFECT}:
        yield from _cautions(report)


def _proof(evidence: Evidence) -> Iterator[str]:
    """What replays show."""
    gate = evidence.noise
    if evidence.verdict == EvidenceVerdict.NOISE and gate.p is None:
        yield evidence.rule
        yield briefs.NO_REPLAY_NEEDED
        return
    kind = _PROOFS.get((evidence.verdict, evidence.confidence))
    yield briefs.proof(kind) if kind else evidence.rule
    if gate.p is not None:
        yield briefs.chance(repeat_rate(gate), gate.p, _chance_odds(evidence, gate.p))
    elif has_proved(evidence) and not evidence.live_calls and skipped_replays(evidence) <= 0:
        yield briefs.RECORDED_ONLY
    yield briefs.replays_used(replay_counts(evidence))


def _chance_odds(evidence: Evidence, p: float) -> ChanceOdds | None:
    if evidence.verdict == EvidenceVerdict.NOISE:
        return None
    if p < _RULED_OUT:
        return ChanceOdds.RULED_OUT
    return ChanceOdds.UNLIKELY if evidence.noise.status == GateStatus.RULED_OUT else ChanceOdds.OPEN


def _observation(report: DiffReport) -> str:
    """What the recordings alone show."""
    attribution = report.attribution
    match attribution.verdict:
        case AttributionVerdict.NO_DIFFERENCE:
            return briefs.observation(Observation.NO_DIFFERENCE)
        case AttributionVerdict.NO_EFFECT:
            return briefs.observation(Observation.NO_EFFECT)
        case AttributionVerdict.NOISE:
            return briefs.observation(Observation.CHANCE)
        case AttributionVerdict.INCONCLUSIVE:
            return briefs.observation(Observation.OPEN if attribution.alternatives else Observation.TOO_DIFFERENT)
        case AttributionVerdict.CAUSE:
            return _cause_observation(report)


def _cause_observation(report: DiffReport) -> str:
    attribution = report.attribution
    if attribution.confidence == "medium":
        is_open = bool(attribution.cheapest_experiment)
        return briefs.observation(Observation.ONLY_CHANGE if is_open else Observation.MANUAL_ANSWER)
    if not _is_replay(report):
        return _separate_recordings(report)
    if attribution.alternatives:
        return briefs.other_changes(len(attribution.alternatives))
    return briefs.observation(Observation.NO_DATA_FLOW)


def _is_replay(report: DiffReport) -> bool:
    base, candidate = report.base, report.candidate
    return candidate.source_run == base.id or (base.source_run is not None and base.source_run == candidate.source_run)


def _separate_recordings(report: DiffReport) -> str:
    """The doubt about two recordings, with the step that differs before the named cause, if any."""
    primary = report.attribution.primary
    cause_ids = {step.id for step in (primary.base, primary.candidate) if step} if primary else set()
    cause_ids |= {link.step.id for link in report.attribution.path[:1]}
    differing = (pair for pair in acting_pairs(report.pairs) if pair.relation in {"changed", "added", "removed"})
    first = next(differing, None)
    steps = [step for step in (first.base, first.candidate) if step] if first else []
    is_first = not cause_ids.isdisjoint(step.id for step in steps)
    earlier_step = steps[0].sequence_no if steps and not is_first else 0
    return briefs.separate_recordings(is_first=is_first, earlier_step=earlier_step)


def _cautions(report: DiffReport) -> Iterator[str]:
    """The limits of the comparison."""
    prompts = any(gap.what == Recordable.SYSTEM_PROMPT for gap in report.sections.prompt.unavailable)
    models = any(gap.what.startswith(Recordable.MODEL_NAME) for gap in report.sections.model.unavailable)
    if report.candidate.source_run is None and (prompts or models):
        yield briefs.unrecorded_settings(prompts=prompts, models=models)
    if steps := _idle_steps(report):
        yield briefs.idle_steps(steps[:_NAMED_STEPS], max(0, len(steps) - _NAMED_STEPS))
    if report.unchanged is not None and report.unchanged.answer_differs:
        yield briefs.LANE_DIFFERS


def _idle_steps(report: DiffReport) -> list[IdleStep]:
    steps = [pair.candidate for pair in acting_pairs(report.pairs) if pair.candidate and pair.relation != "same"]
    return [
        IdleStep(number=step.sequence_no, name=step_label(step), reason=step.reason)
        for step in steps
        if step.reason in briefs.IDLE_REASONS
    ]


def _next(report: DiffReport) -> str:
    attribution = report.attribution
    if attribution.verdict in {AttributionVerdict.NO_DIFFERENCE, AttributionVerdict.NO_EFFECT}:
        return briefs.next_step(NextKind.NOTHING_TO_EXPLAIN)
    evidence = deciding_evidence(report.evidence)
    latest = evidence or _latest_about_answer(report.evidence)
    if latest is not None and latest.cheapest_experiment is not None:
        experiment = latest.cheapest_experiment
        return briefs.next_experiment(experiment.text, can_prove=bool(experiment.replays), repeats=False)
    if attribution.cheapest_experiment:
        return briefs.next_experiment(attribution.cheapest_experiment, can_prove=True, repeats=True)
    if attribution.verdict == AttributionVerdict.INCONCLUSIVE:
        return briefs.next_step(NextKind.BETTER_RUNS)
    if latest is None:
        return briefs.next_step(NextKind.NOTHING_OPEN)
    return briefs.next_step(_next_after(evidence) if evidence else NextKind.NO_REPLAY_HELPS)


def _latest_about_answer(evidence: Sequence[Evidence]) -> Evidence | None:
    """The latest proof about the final answer that settled nothing."""
    return next((item for item in reversed(evidence) if item.question.kind.startswith("answer")), None)


def _next_after(evidence: Evidence) -> NextKind:
    """What to do after a proof that needs no further replay."""
    if evidence.verdict == EvidenceVerdict.NOISE:
        gate = evidence.noise
        if not gate.base_n:
            return NextKind.REPEATS
        return NextKind.TYPICAL_BASE if gate.base_n == gate.base_flips else NextKind.SAMPLES
    if evidence.verdict in {EvidenceVerdict.JOINT, EvidenceVerdict.OVER_DETERMINED}:
        return NextKind.MORE_SAMPLES
    return NextKind.REPLAYS_SUFFICE if skipped_replays(evidence) > 0 else NextKind.REPLAYS_LISTED
