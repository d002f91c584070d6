"""Evidence as rows of text, for Markdown and HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.report.evidence import has_proved, replay_counts
from diffing.schemas.evidence import AtomEvidence, Evidence, GateStatus, Interaction, NoiseGate, ProbeEvidence
from diffing.sentences import evidence_lines as lines

# Replays, and changes, in a table.
_MAX_ROWS: Final = 60


@dataclass(frozen=True, kw_only=True)
class AtomRow:
    """A change in the table of an answer."""

    title: str
    depth: int
    sufficient: str
    necessary: str
    share: str
    remark: str


@dataclass(frozen=True, kw_only=True)
class ProbeRow:
    """A replay in the table of an answer."""

    title: str
    outcome: str
    note: str
    cost: str


@dataclass(frozen=True, kw_only=True)
class EvidenceView:
    """One answer, with all of its texts."""

    title: str
    heading: str
    conclusion: str
    confidence: str
    confidence_label: str
    rule: str
    question: str
    noise: str
    counts: str
    atoms: list[AtomRow]
    probes: list[ProbeRow]
    mediators: list[str]
    interactions: list[str]
    assumptions: list[str]
    cheapest: str
    scope: str


def evidence_views(evidence: Sequence[Evidence]) -> list[EvidenceView]:
    """Every answer, in order."""
    return [_view(item) for item in evidence]


def _view(evidence: Evidence) -> EvidenceView:
    titles = {atom.id: atom.title for atom in evidence.atoms}
    all_changes = {atom.id for atom in evidence.atoms if atom.testable and atom.parent is None}
    is_limited = evidence.confidence == "low" and evidence.verdict.names_cause
    return EvidenceView(
        title=lines.title(
            has_proof=has_proved(evidence),
            replays=evidence.replays_cached + evidence.replays_live,
            agent_ran=evidence.agent_ran,
        ),
        heading=lines.heading(evidence.verdict, is_limited=is_limited),
        conclusion=evidence.conclusion,
        confidence=evidence.confidence,
        confidence_label=lines.confidence_label(evidence.confidence),
        rule=evidence.rule,
        question=evidence.question.text,
        noise=_chance(evidence.noise),
        counts=replay_counts(evidence),
        atoms=[_atom(atom, is_sampled=evidence.shares == "sampled") for atom in evidence.atoms[:_MAX_ROWS]],
        probes=[_probe(probe, titles, all_changes) for probe in evidence.probes[:_MAX_ROWS]],
        mediators=[lines.mediator(mediator) for mediator in evidence.mediators],
        interactions=[_interaction(interaction, titles) for interaction in evidence.interactions],
        assumptions=list(evidence.assumptions),
        cheapest=evidence.cheapest_experiment.text if evidence.cheapest_experiment else "",
        scope=lines.repeat_scope(evidence.repeats) if evidence.repeats else evidence.scope,
    )


def _interaction(interaction: Interaction, titles: Mapping[str, str]) -> str:
    first, second = (titles.get(name, name) for name in (interaction.one, interaction.other))
    return lines.interaction(first, second, interaction.value)


def _atom(atom: AtomEvidence, *, is_sampled: bool) -> AtomRow:
    certificate = f"{atom.certificate.kind}: {atom.certificate.reason}" if atom.certificate else ""
    return AtomRow(
        title=atom.title,
        depth=atom.id.count("/"),
        sufficient=lines.answer(atom.sufficient),
        necessary=lines.answer(atom.necessary),
        share="" if atom.shapley is None else lines.share(atom.shapley, is_sampled=is_sampled),
        remark=atom.why_not or certificate,
    )


def _probe(probe: ProbeEvidence, titles: Mapping[str, str], all_changes: set[str]) -> ProbeRow:
    outcome, note = lines.OUTCOMES[probe.outcome], probe.missing or probe.said
    # Repeats have several outcomes, which `said` counts.
    if probe.repeats > 1:
        outcome, note = probe.said, probe.missing
    return ProbeRow(
        title=_probe_title(probe, titles, all_changes),
        outcome=outcome,
        note=note,
        cost=lines.probe_cost(probe.executed_steps, probe.cached_calls, probe.live_calls),
    )


def _probe_title(probe: ProbeEvidence, titles: Mapping[str, str], all_changes: set[str]) -> str:
    if probe.clamped is not None:
        return lines.clamp_replay(probe.clamped, probe.repeats)
    if probe.purpose == "control":
        return lines.control_replay(probe.side)
    own_changes = all_changes if probe.side == "candidate" else set[str]()
    if probe.purpose == "repeat" and set(probe.applied) == own_changes:
        return lines.repeat_replay(probe.side, probe.repeats)
    return lines.change_replay(probe.side, [titles.get(name, name) for name in probe.applied], probe.repeats)


def _chance(gate: NoiseGate) -> str:
    return lines.chance_line(gate, has_repeats=gate.status not in {GateStatus.NOT_NEEDED, GateStatus.NOT_RUN})
