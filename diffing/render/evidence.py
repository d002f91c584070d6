"""Evidence in words, for Markdown and the HTML file alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from diffing.report.evidence import counted, has_proved
from diffing.schemas.evidence import (
    AtomEvidence,
    Evidence,
    GateStatus,
    Interaction,
    Interval,
    Mediator,
    NoiseGate,
    ProbeEvidence,
)

_VERDICTS: Final = {
    "single": "One change did it",
    "joint": "Several changes did it together",
    "over_determined": "More than one cause, each enough",
    "no_effect": "No effect",
    "noise": "No cause found, chance does as much",
    "inconclusive": "Not settled",
}
_OUTCOMES: Final = {
    "candidate": "the candidate's",
    "base": "the base's",
    "other": "another",
    "needs_live": "did not run",
    "failed": "failed",
}
_ROLES: Final = {"entry": "where it came in", "between": "on the way", "commitment": "where it was settled"}
_CAUSES: Final = frozenset({"single", "joint", "over_determined"})
_SHOWN: Final = 60  # probes, and changes


@dataclass(frozen=True, kw_only=True)
class AtomRow:
    title: str
    depth: int
    enough: str
    needed: str
    share: str
    remark: str


@dataclass(frozen=True, kw_only=True)
class ProbeRow:
    what: str
    outcome: str
    said: str
    took: str


@dataclass(frozen=True, kw_only=True)
class Told:
    """One answer, ready to be written down."""

    title: str
    heading: str
    conclusion: str
    confidence: str
    rule: str
    question: str
    noise: str
    counted: str
    atoms: list[AtomRow]
    probes: list[ProbeRow]
    mediators: list[str]
    interactions: list[str]
    assumptions: list[str]
    cheapest: str
    scope: str


def told(evidence: Sequence[Evidence]) -> list[Told]:
    """Every answer, in the order in which they were found."""
    return [_told(found) for found in evidence]


def _told(found: Evidence) -> Told:
    titles = {atom.id: atom.title for atom in found.atoms}
    whole = {atom.id for atom in found.atoms if atom.testable and atom.parent is None}
    return Told(
        title=_title(found),
        heading=_heading(found),
        conclusion=found.conclusion,
        confidence=found.confidence,
        rule=found.rule,
        question=found.question.text,
        noise=_noise(found.noise),
        counted=counted(found),
        atoms=[_atom(atom, found.shares) for atom in found.atoms[:_SHOWN]],
        probes=[_probe(probe, titles, whole) for probe in found.probes[:_SHOWN]],
        mediators=[_mediator(mediator) for mediator in found.mediators],
        interactions=[_interaction(pair, titles) for pair in found.interactions],
        assumptions=list(found.assumptions),
        cheapest=found.cheapest_experiment.text if found.cheapest_experiment else "",
        scope=found.scope if not found.repeats else f"over {found.repeats} repeats of each side",
    )


def _title(found: Evidence) -> str:
    """No stronger than what was run."""
    if has_proved(found):
        return "Proved by replaying"
    return "Tested by replaying" if found.replays_cached + found.replays_live else "Nothing was replayed"


def _heading(found: Evidence) -> str:
    said = _VERDICTS[found.verdict]
    return f"{said}, as far as was tested" if found.confidence == "low" and found.verdict in _CAUSES else said


def _interaction(pair: Interaction, titles: dict[str, str]) -> str:
    first, second = titles.get(pair.one, pair.one), titles.get(pair.other, pair.other)
    both = f"{first} and {second[:1].lower()}{second[1:]}"
    if pair.value > 0:
        return f"{both}: together they do more than both alone, added up (interaction {pair.value:.2g})."
    return f"{both}: together they do less than both alone, added up (interaction −{-pair.value:.2g})."


def _atom(atom: AtomEvidence, shares: str) -> AtomRow:
    certificate = f"{atom.certificate.kind}: {atom.certificate.reason}" if atom.certificate else ""
    about = "about " if shares == "sampled" else ""
    return AtomRow(
        title=atom.title,
        depth=atom.id.count("/"),
        enough=_yes(atom.sufficient),
        needed=_yes(atom.necessary),
        share="" if atom.shapley is None else f"{about}{atom.shapley:.0%}",
        remark=atom.why_not or certificate,
    )


def _probe(probe: ProbeEvidence, titles: dict[str, str], whole: set[str]) -> ProbeRow:
    times = f"{probe.repeats} times " if probe.repeats > 1 else ""
    took = [_many(probe.executed_steps, "step")]
    took += [_many(probe.cached_calls, "recorded answer")] if probe.cached_calls else []
    took += [_many(probe.live_calls, "live call")] if probe.live_calls else []
    outcome, said = (probe.said, probe.missing) if times else (_OUTCOMES[probe.outcome], probe.missing or probe.said)
    return ProbeRow(what=f"{times}{_what(probe, titles, whole)}", outcome=outcome, said=said, took=", ".join(took))


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _what(probe: ProbeEvidence, titles: dict[str, str], whole: set[str]) -> str:
    if probe.clamped is not None:
        return f"the candidate, with step {probe.clamped} answering as in the base"
    if probe.purpose == "repeat" and set(probe.applied) == (whole if probe.side == "candidate" else set()):
        return f"the {probe.side} again, unchanged"
    return f"the {probe.side} with {_named(probe.applied, titles)}"


def _named(applied: Sequence[str], titles: dict[str, str]) -> str:
    if not applied:
        return "none of the changes"
    return "only: " + "; ".join(titles.get(name, name) for name in applied)


def _mediator(mediator: Mediator) -> str:
    step = mediator.step
    said = f": {mediator.text}" if mediator.text else ""
    return f"step {step.sequence_no} ({step.name}), {_ROLES[mediator.role]}, {mediator.evidence}{said}"


def _noise(gate: NoiseGate) -> str:
    if gate.status in {GateStatus.NOT_NEEDED, GateStatus.NOT_RUN}:
        return f"Chance: {gate.reason}."
    p = "" if gate.p is None else f", p = {gate.p:.2g}"
    base = _kept("base", gate.base_flips, gate.base_n, gate.base_interval)
    candidate = _kept("candidate", gate.candidate_flips, gate.candidate_n, gate.candidate_interval)
    return f"Chance: {gate.reason}{p}. Repeated with nothing changed, {base} and {candidate}."


def _kept(name: str, flips: int, n: int, interval: Interval | None) -> str:
    rate = f" (95 % interval: {1 - interval.high:.0%} to {1 - interval.low:.0%})" if interval else ""
    return f"the {name} came out as recorded {n - flips} of {n} times{rate}"


def _yes(known: bool | None) -> str:
    return "not tested" if known is None else "yes" if known else "no"
