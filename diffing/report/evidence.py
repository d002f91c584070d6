"""A report with the evidence of experiments: the strongest wins over what the recordings alone say. Pure."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final
from uuid import UUID

from diffing.schemas.evidence import AtomEvidence, Evidence, EvidenceQuestion, Findings
from diffing.schemas.report import Attribution, Cause, DiffReport, PathLink
from diffing.schemas.terms import Confidence
from diffing.sentences.changes import NO_DATA_FLOW, OPEN_CHANGES, SUSPICION
from diffing.sentences.proofs import OTHER_MODELS
from diffing.sentences.text import capitalize
from traces.core.canonical import digest
from traces.core.json_types import JSONValue

# Questions about the final answer, which is what a report's verdict is about.
_ANSWER: Final = ("answer", "answer_exact", "answer_facts", "answer_alike")
_STRENGTH: Final[dict[Confidence, int]] = {"high": 3, "noise": 2, "medium": 1, "low": 0}

_SETTLED: Final = frozenset({"candidate", "base", "other"})

# By whether the change is enough, and whether it is needed.
_SHOWN: Final[dict[tuple[bool, bool], str]] = {
    (True, True): "show it both ways: with this change alone the base comes out as the candidate, and without it the "
    "candidate does not.",
    (True, False): "show it one way: with this change alone the base comes out as the candidate.",
    (False, True): "show it one way: without this change the candidate does not come out as it did.",
    (False, False): "",
}


def question_key(question: EvidenceQuestion) -> str:
    """The question in short, its kind first."""
    if not question.checks:
        return question.kind
    return f"{question.kind}:{digest(list[JSONValue](question.checks))[:16]}"


def decides(question_key: str, confidence: str) -> bool:
    """Whether evidence is about the report's verdict, and more than observation."""
    return question_key.partition(":")[0] in _ANSWER and _STRENGTH.get(_level(confidence), 0) > 0


def strength(confidence: str) -> int:
    return _STRENGTH[_level(confidence)]


def deciding(evidence: Sequence[Evidence]) -> Evidence | None:
    """The evidence that the report's verdict rests on, if any."""
    found = [one for one in evidence if decides(question_key(one.question), one.confidence)]
    return max(found, key=lambda one: _STRENGTH[one.confidence], default=None)


def with_evidence(report: DiffReport, evidence: Sequence[Evidence]) -> DiffReport:
    """The report as it is shown; `evidence` is the newest last."""
    newest = list({question_key(one.question): one for one in evidence}.values())
    best = deciding(newest)
    if best is None:
        return report.model_copy(update={"evidence": newest})
    told = _attribution(best, report.attribution)
    return report.model_copy(
        update={"evidence": newest, "observed": report.attribution, "attribution": told, "summary": told.sentence}
    )


def has_proved(found: Findings) -> bool:
    """Whether replays, and no certificate or guess alone, show the cause that is named."""
    replayed = any(probe.purpose != "repeat" and probe.outcome in _SETTLED for probe in found.probes)
    return bool(found.primary) and found.confidence in {"high", "medium"} and replayed


def skipped(found: Findings) -> int:
    """Replays that were wanted, and came to nothing without a live call."""
    return sum(probe.repeats for probe in found.probes) - found.replays_cached - found.replays_live


def counted(found: Findings) -> str:
    """What it took, in words."""
    replays, left = found.replays_cached + found.replays_live, skipped(found)
    cost = "" if not found.live_calls else ", cost unknown" if found.cost_usd is None else f", ${found.cost_usd:.4g}"
    steps = f"{found.steps_executed:,} step{_s(found.steps_executed)} re-executed"
    more = f"; {left:,} more could not run" if left > 0 else ""
    return f"{replays:,} replay{_s(replays)} ({found.replays_live:,} live), {steps}{cost}{more}"


def _attribution(found: Evidence, observed: Attribution) -> Attribution:
    by_id = {atom.id: atom for atom in found.atoms}
    causes = [_cause(by_id[name]) for one in found.primary for name in one if name in by_id]
    tested = {mediator.step.id for mediator in found.mediators if mediator.evidence == "tested"}
    return Attribution(
        verdict="cause" if found.primary else "noise" if found.verdict == "noise" else "no_effect",
        sentence=_sentence(found, observed, causes),
        primary=causes[0] if causes else None,
        supporting=causes[1:],
        path=[_link(link, tested) for link in observed.path if found.verdict != "noise"],
        confidence=found.confidence,
        evidence=[
            found.rule,
            f"{counted(found)}; compared: {', '.join(found.features) or found.question.text}.",
            *_certified(found.atoms),
        ],
        alternatives=[_cause(atom) for atom in found.atoms if _is_open(atom, found)],
        cheapest_experiment=found.cheapest_experiment.text if found.cheapest_experiment else "",
    )


def _sentence(found: Evidence, observed: Attribution, causes: Sequence[Cause]) -> str:
    """Where replays confirm the cause that was observed: what it did, and that they show it. Else what they say."""
    seen = observed.primary
    said = capitalize(observed.sentence.removeprefix(SUSPICION).removesuffix(NO_DATA_FLOW).partition(OPEN_CHANGES)[0])
    if len(causes) != 1 or seen is None or seen.title != causes[0].title or not said.startswith(capitalize(seen.title)):
        return found.conclusion  # the observed sentence is about something else, or about more
    if found.conclusion.startswith(OTHER_MODELS):
        return found.conclusion
    atom = next(atom for atom in found.atoms if atom.title == seen.title)
    shown = _SHOWN[bool(atom.sufficient), bool(atom.necessary)]
    how = "Replays of these two recordings" if found.noise.p is None and not found.live_calls else "Replays"
    return f"{said} {how} {shown}" if shown else found.conclusion


def _link(link: PathLink, tested: Collection[UUID]) -> PathLink:
    return link.model_copy(update={"evidence": "tested"}) if link.step.id in tested else link


def _cause(atom: AtomEvidence) -> Cause:
    return Cause(
        category=atom.category, title=atom.title, description=atom.description, base=atom.base, candidate=atom.candidate
    )


def _certified(atoms: Iterable[AtomEvidence]) -> list[str]:
    return [
        f"Ruled out: {atom.title[:1].lower()}{atom.title[1:]} — {atom.certificate.reason} ({atom.certificate.kind})."
        for atom in atoms
        if atom.certificate is not None
    ]


def _is_open(atom: AtomEvidence, found: Findings) -> bool:
    """Whether the probes leave it possible that the change has to do with it."""
    named = any(atom.id in one for one in found.primary)
    if named or atom.parent is not None or found.confidence in {"high", "noise"}:
        return False
    return not (atom.necessary is False and atom.sufficient is False)


def _level(confidence: str) -> Confidence:
    return (
        "high"
        if confidence == "high"
        else "medium"
        if confidence == "medium"
        else ("noise" if confidence == "noise" else "low")
    )


def _s(count: int) -> str:
    return "" if count == 1 else "s"
