"""A report with evidence: the strongest proof replaces the attribution by recordings. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from diffing.schemas.evidence import AtomEvidence, Evidence, EvidenceQuestion, EvidenceVerdict, Findings
from diffing.schemas.report import Attribution, Cause, DiffReport, Headline, PathLink
from diffing.schemas.terms import AttributionVerdict, Confidence
from diffing.sentences import evidence_lines, headlines
from diffing.sentences.changes import NO_DATA_FLOW, OPEN_CHANGES, SUSPICION
from diffing.sentences.evidence_lines import Directions, ReplayCounts
from diffing.sentences.headlines import ProofKind
from diffing.sentences.proofs import OTHER_MODELS
from diffing.sentences.text import capitalize
from traces.core.canonical import digest
from traces.core.json_types import JSONValue

# Questions about the final answer, which is what a report's verdict is about.
_ANSWER: Final = ("answer", "answer_exact", "answer_facts", "answer_alike")
_STRENGTH: Final[dict[Confidence, int]] = {"high": 3, "noise": 2, "medium": 1, "low": 0}

_CONFIDENCES: Final[Mapping[str, Confidence]] = {"high": "high", "medium": "medium", "noise": "noise"}
# Outcomes of replays that ran to the end.
# By whether the change is sufficient, and whether it is necessary.
_DIRECTIONS: Final[Mapping[tuple[bool, bool], Directions]] = {
    (True, True): Directions.SUFFICIENT_AND_NECESSARY,
    (True, False): Directions.SUFFICIENT,
    (False, True): Directions.NECESSARY,
}


# Categories of causes that are all that differs in the output of a step.
_OUTPUTS: Final = frozenset({"tool", "retrieval"})
_HEADLINES: Final[Mapping[EvidenceVerdict, ProofKind]] = {
    EvidenceVerdict.SINGLE: ProofKind.SINGLE,
    EvidenceVerdict.JOINT: ProofKind.JOINT,
    EvidenceVerdict.OVER_DETERMINED: ProofKind.SEVERAL_CAUSES,
    EvidenceVerdict.NOISE: ProofKind.CHANCE,
}


def question_key(question: EvidenceQuestion) -> str:
    """The key of a question, its kind first."""
    if not question.checks:
        return question.kind
    return f"{question.kind}:{digest(list[JSONValue](question.checks))[:16]}"


def decides(question_key: str, confidence: str) -> bool:
    """True if evidence is about the report's verdict and is more than observation."""
    return question_key.partition(":")[0] in _ANSWER and _STRENGTH.get(_level(confidence), 0) > 0


def strength(confidence: str) -> int:
    return _STRENGTH[_level(confidence)]


def deciding_evidence(evidence: Sequence[Evidence]) -> Evidence | None:
    """The evidence that decides the report's verdict, if any."""
    candidates = [item for item in evidence if decides(question_key(item.question), item.confidence)]
    return max(candidates, key=lambda item: _STRENGTH[item.confidence], default=None)


def with_evidence(report: DiffReport, evidence: Sequence[Evidence]) -> DiffReport:
    """The report with its evidence, the newest last."""
    newest = list({question_key(item.question): item for item in evidence}.values())
    best = deciding_evidence(newest)
    if best is None:
        return report.model_copy(update={"evidence": newest})
    attribution = decided_attribution(best, report.attribution)
    return report.model_copy(
        update={
            "evidence": newest,
            "observed": report.attribution,
            "attribution": attribution,
            "summary": attribution.sentence,
        }
    )


def has_proved(findings: Findings) -> bool:
    """True if replays show the named cause, not certificates or observation alone."""
    has_outcome = any(
        probe.purpose not in {"repeat", "control"} and probe.outcome.is_settled for probe in findings.probes
    )
    return bool(findings.primary) and findings.confidence in {"high", "medium"} and has_outcome


def skipped_replays(findings: Findings) -> int:
    """The number of replays that would have needed a live call and did not run."""
    return sum(probe.repeats for probe in findings.probes) - findings.replays_cached - findings.replays_live


def replay_counts(findings: Findings) -> str:
    """What a proof took, as a clause."""
    return evidence_lines.replay_counts(
        ReplayCounts(
            replays=findings.replays_cached + findings.replays_live,
            live_replays=findings.replays_live,
            steps=findings.steps_executed,
            live_calls=findings.live_calls,
            cost=findings.cost_usd,
            skipped_replays=skipped_replays(findings),
        )
    )


def _attribution_verdict(evidence: Findings) -> AttributionVerdict:
    if evidence.primary:
        return AttributionVerdict.CAUSE
    return AttributionVerdict.NOISE if evidence.verdict is EvidenceVerdict.NOISE else AttributionVerdict.NO_EFFECT


def decided_attribution(evidence: Findings, observation: Attribution) -> Attribution:
    """The attribution by evidence that decides the verdict, in place of the attribution by recordings."""
    by_id = {atom.id: atom for atom in evidence.atoms}
    causes = [_cause(by_id[name]) for change_set in evidence.primary for name in change_set if name in by_id]
    tested_steps = {mediator.step.id for mediator in evidence.mediators if mediator.evidence == "tested"}
    features = ", ".join(evidence.features) or evidence.question.text
    return Attribution(
        verdict=_attribution_verdict(evidence),
        headline=_headline(evidence, observation, causes),
        sentence=_sentence(evidence, observation, causes),
        primary=causes[0] if causes else None,
        supporting=causes[1:],
        path=[_link(link, tested_steps) for link in observation.path if evidence.verdict != EvidenceVerdict.NOISE],
        confidence=evidence.confidence,
        evidence=[
            evidence.rule,
            evidence_lines.comparison_line(replay_counts(evidence), features),
            *_exclusions(evidence.atoms),
        ],
        alternatives=[_cause(atom) for atom in evidence.atoms if _is_open(atom, evidence)],
        cheapest_experiment=evidence.cheapest_experiment.text if evidence.cheapest_experiment else "",
    )


def _headline(evidence: Findings, observation: Attribution, causes: Sequence[Cause]) -> Headline | None:
    """The observed headline if replays confirm exactly its cause, else the causes of the proof."""
    original = observation.headline
    if original is None:
        return None
    verdict = evidence.verdict
    is_observed_chance = verdict == EvidenceVerdict.NOISE and observation.verdict == AttributionVerdict.NOISE
    if is_observed_chance and evidence.noise.p is None:
        return original
    if _confirmed_directions(evidence, observation, causes):
        return headlines.confirm(original)
    has_other_models = evidence.conclusion.startswith(OTHER_MODELS)
    kind = _HEADLINES.get(verdict, ProofKind.NO_EFFECT) if causes or verdict == EvidenceVerdict.NOISE else None
    titles = [cause.title for cause in causes]
    return headlines.proof_headline(kind or ProofKind.NO_EFFECT, titles, has_other_models=has_other_models)


def _observed_sentence(observation: Attribution) -> str:
    """The sentence of the recordings without its doubts."""
    text = observation.sentence.removeprefix(SUSPICION).removesuffix(NO_DATA_FLOW).partition(OPEN_CHANGES)[0]
    return capitalize(text)


def _confirmed_directions(evidence: Findings, observation: Attribution, causes: Sequence[Cause]) -> Directions | None:
    """In which directions replays confirm exactly the observed cause; None if they do not."""
    primary = observation.primary
    if primary is None or len(causes) != 1 or evidence.conclusion.startswith(OTHER_MODELS):
        return None
    atom = next(atom for atom in evidence.atoms if atom.title == causes[0].title)
    if not _is_same_change(primary, atom, evidence.atoms):
        return None
    if not _observed_sentence(observation).startswith(capitalize(primary.title)):
        return None
    return _DIRECTIONS.get((bool(atom.sufficient), bool(atom.necessary)))


def _is_same_change(cause: Cause, atom: AtomEvidence, atoms: Iterable[AtomEvidence]) -> bool:
    """Whether an observed cause is a tested change: by its title, or the only one of its step's output.

    The title of an override names the new output, and that of a cause what differs in it.
    """
    if cause.title == atom.title:
        return True
    if cause.category != atom.category or cause.category not in _OUTPUTS or not (atom.base and atom.candidate):
        return False
    changes_here = [other for other in atoms if _step_ids(other) == _step_ids(atom)]
    return changes_here == [atom] and _step_ids(cause) == _step_ids(atom)


def _step_ids(change: Cause | AtomEvidence) -> tuple[UUID | None, UUID | None]:
    base, candidate = change.base, change.candidate
    return base.id if base else None, candidate.id if candidate else None


def _sentence(evidence: Findings, observation: Attribution, causes: Sequence[Cause]) -> str:
    """The observed cause if replays confirm exactly that, else the conclusion of the proof."""
    directions = _confirmed_directions(evidence, observation, causes)
    if directions is None:
        return evidence.conclusion
    sentence = _observed_sentence(observation)
    recorded_only = evidence.noise.p is None and not evidence.live_calls
    return f"{sentence} {evidence_lines.confirmation(directions, recorded_only=recorded_only)}"


def _link(link: PathLink, tested_steps: Collection[UUID]) -> PathLink:
    return link.model_copy(update={"evidence": "tested"}) if link.step.id in tested_steps else link


def _cause(atom: AtomEvidence) -> Cause:
    return Cause(
        category=atom.category, title=atom.title, description=atom.description, base=atom.base, candidate=atom.candidate
    )


def _exclusions(atoms: Iterable[AtomEvidence]) -> list[str]:
    return [
        evidence_lines.exclusion(atom.title, atom.certificate.reason, atom.certificate.kind)
        for atom in atoms
        if atom.certificate is not None
    ]


def _is_open(atom: AtomEvidence, findings: Findings) -> bool:
    """True if the replays leave it open whether the change contributes."""
    is_cause = any(atom.id in change_set for change_set in findings.primary)
    if is_cause or atom.parent is not None or findings.confidence in {"high", "noise"}:
        return False
    return not (atom.necessary is False and atom.sufficient is False)


def _level(confidence: str) -> Confidence:
    return _CONFIDENCES.get(confidence, "low")
