"""The lines of stored evidence: verdict, changes, replays, chance and what they took. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from diffing.schemas.evidence import CertificateKind, EvidenceVerdict, Interval, Mediator, NoiseGate, ProbeOutcome
from diffing.schemas.terms import Confidence
from diffing.sentences.text import count_noun, inside_sentence
from diffing.sentences.verdicts import RunSide

# The verdict on an answer, as a heading.
VERDICTS: Final[Mapping[EvidenceVerdict, str]] = {
    EvidenceVerdict.SINGLE: "One change is the cause",
    EvidenceVerdict.JOINT: "Several changes are the cause together",
    EvidenceVerdict.OVER_DETERMINED: "Several causes, each sufficient",
    EvidenceVerdict.NO_EFFECT: "No effect",
    EvidenceVerdict.NOISE: "No cause found: within chance",
    EvidenceVerdict.INCONCLUSIVE: "Inconclusive",
}
# The outcome of a replay, in a table.
OUTCOMES: Final[Mapping[ProbeOutcome, str]] = {
    ProbeOutcome.CANDIDATE: "as in the candidate",
    ProbeOutcome.BASE: "as in the base",
    ProbeOutcome.OTHER: "something else",
    ProbeOutcome.NEEDS_LIVE: "did not run",
    ProbeOutcome.FAILED: "failed",
}
_ROLES: Final = {
    "entry": "the effect begins here",
    "between": "on the path",
    "commitment": "the outcome is decided here",
}


class Directions(StrEnum):
    """In which directions replays show a cause."""

    SUFFICIENT_AND_NECESSARY = "sufficient_and_necessary"
    SUFFICIENT = "sufficient"
    NECESSARY = "necessary"


_DIRECTIONS: Final[Mapping[Directions, str]] = {
    Directions.SUFFICIENT_AND_NECESSARY: "show it both ways: with this change alone, the base has the candidate's "
    "outcome; without it, the candidate does not.",
    Directions.SUFFICIENT: "show it one way: with this change alone, the base has the candidate's outcome.",
    Directions.NECESSARY: "show it one way: without this change, the candidate does not have its outcome.",
}


def confirmation(directions: Directions, *, recorded_only: bool) -> str:
    """What replays confirm about the observed cause; `recorded_only`: without a live call or a repeat."""
    return f"{'Replays of these two recordings' if recorded_only else 'Replays'} {_DIRECTIONS[directions]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayCounts:
    """What a proof took; a `cost` of None is unknown."""

    replays: int
    live_replays: int
    steps: int
    live_calls: int = 0
    cost: float | None = None
    skipped_replays: int = 0


def replay_counts(counts: ReplayCounts) -> str:
    """What a proof took, as a clause."""
    cost = "" if not counts.live_calls else ", cost unknown" if counts.cost is None else f", ${counts.cost:.4g}"
    steps = f"{count_noun(counts.steps, 'step')} re-executed"
    note = f"; {counts.skipped_replays:,} more could not run" if counts.skipped_replays > 0 else ""
    return f"{count_noun(counts.replays, 'replay')} ({counts.live_replays:,} live), {steps}{cost}{note}"


def comparison_line(counts: str, features: str) -> str:
    """What a proof took and compared."""
    return f"{counts}; compared: {features}."


def exclusion(title: str, reason: str, kind: CertificateKind) -> str:
    """A change that a certificate rules out."""
    return f"Ruled out: {inside_sentence(title)} — {reason} ({kind})."


def title(*, has_proof: bool, replays: int, agent_ran: bool = False) -> str:
    """The title of an answer, no stronger than the replays that were run."""
    way = "running the agent itself" if agent_ran else "replaying"
    if has_proof:
        return f"Proved by {way}"
    return f"Tested by {way}" if replays else "Nothing was replayed"


def heading(verdict: EvidenceVerdict, *, is_limited: bool) -> str:
    """The verdict; `is_limited`: with low confidence."""
    return f"{VERDICTS[verdict]}, as far as tested" if is_limited else VERDICTS[verdict]


def confidence_label(confidence: Confidence) -> str:
    """The confidence of an answer."""
    return "No cause named" if confidence == "noise" else f"{confidence.capitalize()} confidence"


def repeat_scope(repeats: int) -> str:
    """The scope of an answer that rests on repeats."""
    return f"over {repeats} repeats of each side"


def answer(flag: bool | None) -> str:
    """Whether a change is sufficient or necessary."""
    return "not tested" if flag is None else "yes" if flag else "no"


def share(value: float, *, is_sampled: bool) -> str:
    """A change's share of the difference."""
    return f"{'about ' if is_sampled else ''}{value:.0%}"


def interaction(first: str, second: str, value: float) -> str:
    """The effect of two changes together, compared with the sum of their separate effects."""
    comparison = "more" if value > 0 else "less"
    figure = f"{value:.2g}" if value > 0 else f"−{-value:.2g}"
    pair = f"{first} and {inside_sentence(second)}"
    return f"{pair}: together they do {comparison} than the sum of both (interaction {figure})."


def repeat_replay(side: RunSide, repeats: int) -> str:
    """An unchanged repeat."""
    return f"{_times(repeats)}the {side} again, unchanged"


def control_replay(side: RunSide) -> str:
    """The agent itself, started without any change."""
    return f"the agent itself, started unchanged with the recording of the {side}"


def clamp_replay(step: int, repeats: int) -> str:
    """A replay of the candidate with one step's output of the base."""
    return f"{_times(repeats)}the candidate, with the base's output at step {step}"


def change_replay(side: RunSide, titles: Sequence[str], repeats: int) -> str:
    """A replay of one side with exactly these changes."""
    changes = f"only: {'; '.join(map(inside_sentence, titles))}" if titles else "none of the changes"
    return f"{_times(repeats)}the {side} with {changes}"


def _times(repeats: int) -> str:
    return f"{repeats} times " if repeats > 1 else ""


def probe_cost(steps: int, cached_calls: int, live_calls: int) -> str:
    """What a replay took."""
    parts = [count_noun(steps, "step")]
    parts += [count_noun(cached_calls, "recorded answer")] if cached_calls else []
    parts += [count_noun(live_calls, "live call")] if live_calls else []
    return ", ".join(parts)


def mediator(facts: Mediator) -> str:
    """A step on the path of the cause."""
    text = f": {facts.text}" if facts.text else ""
    return f"step {facts.step.sequence_no} ({facts.step.name}), {_ROLES[facts.role]}, {facts.evidence}{text}"


def chance_line(gate: NoiseGate, *, has_repeats: bool) -> str:
    """Whether chance is ruled out, with the rates of unchanged repeats."""
    if not has_repeats:
        return f"Chance: {gate.reason}."
    p = "" if gate.p is None else f", p = {gate.p:.2g}"
    base = _rate("base", gate.base_flips, gate.base_n, gate.base_interval)
    candidate = _rate("candidate", gate.candidate_flips, gate.candidate_n, gate.candidate_interval)
    return f"Chance: {gate.reason}{p}. Repeated unchanged, {base} and {candidate}."


def _rate(side: RunSide, flips: int, repeats: int, interval: Interval | None) -> str:
    rate = f" (95 % interval: {1 - interval.high:.0%} to {1 - interval.low:.0%})" if interval else ""
    return f"the {side} came out as recorded {repeats - flips} of {repeats} times{rate}"
