"""How sure a finding is: by what was tested, row by row of one table, never by a feeling. Pure."""

from dataclasses import dataclass

from diffing.schemas.evidence import EvidenceVerdict, GateStatus, NoiseGate
from diffing.schemas.terms import Confidence
from replay.proofs.ladder.statistics import ALPHA, STRICT


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """What the finding rests on.

    `enough` and `needed` are of the primary set, null where not tested. `drawn`: a probe that decides got a new answer
    from a model; `borrowed`: one took a tool's answer from the other of two separate runs; `stood_in`: a step that only
    one run has is no more than what it gave. `derived`: the agent's code is taken to have done what it did in the other
    run; `assumed`: a step is taken to be unaffected that may not be; `follows`: the cause comes after a changed output,
    and may be a response to it; `only`: every other change was tried alone, and is not enough. `confirmed` is the
    larger of the adjusted p values of repeats of those probes, null without repeats; `apart`: their effect lies outside
    of what unchanged repeats show. `finished`: the search came to its end. `exhaustive`: every combination of the
    changes was looked at.
    """

    verdict: EvidenceVerdict
    gate: NoiseGate
    enough: bool | None = None
    needed: bool | None = None
    drawn: bool = False
    borrowed: bool = False
    stood_in: bool = False
    derived: bool = False
    assumed: bool = False
    follows: bool = False
    only: bool = True
    confirmed: float | None = None
    apart: bool = False
    finished: bool = True
    left_by_certificates: bool = False
    exhaustive: bool = False


@dataclass(frozen=True, kw_only=True)
class Level:
    confidence: Confidence
    rule: str


def level(grounds: Grounds) -> Level:
    """The first row that fits."""
    if grounds.verdict == "noise":
        said = "Repeated with nothing changed, the two runs differ from themselves as much as from each other."
        certified = "Nobody changed anything between the runs, as far as they were recorded."
        return Level(confidence="noise", rule=said if grounds.gate.status == GateStatus.NOT_REJECTED else certified)
    if grounds.verdict == "no_effect":
        return Level(confidence="noise", rule="The outcome is the same in both runs.")
    return _low(grounds) or _high(grounds) or _medium(grounds)


def _low(grounds: Grounds) -> Level | None:
    if not grounds.finished:
        return Level(confidence="low", rule="The budget ran out before the search was done.")
    if grounds.verdict == "inconclusive":
        return Level(confidence="low", rule="Nothing but observation: no probe separates the changes.")
    if grounds.gate.status == GateStatus.NOT_RUN:
        return Level(confidence="low", rule=f"Chance could not be ruled out: {grounds.gate.reason}.")
    return None


def _high(grounds: Grounds) -> Level | None:
    if grounds.verdict != "single" or not grounds.enough or not grounds.needed or not _beyond_chance(grounds.gate):
        return None
    if grounds.borrowed or grounds.stood_in or grounds.derived or grounds.assumed or grounds.follows:
        return None
    if not grounds.only:
        return None
    if not grounds.drawn:
        said = "Replays show that it is enough and that it is needed"
        if grounds.gate.p is None:
            recorded = "it holds for these two recorded runs, because every answer that was needed is recorded"
            return Level(confidence="high", rule=f"{said}; {recorded}.")
        repeats = f"repeats of both runs rule out chance (p = {grounds.gate.p:.3g})"
        return Level(confidence="high", rule=f"{said}, with recorded answers; {repeats}.")
    if grounds.confirmed is not None and grounds.confirmed < STRICT and grounds.apart:
        said = "Replays show, over repeats, that it is enough and that it is needed"
        odds = f"beyond what unchanged repeats show (adjusted p = {grounds.confirmed:.3g} both ways)"
        return Level(confidence="high", rule=f"{said}, {odds}.")
    return None


def _medium(grounds: Grounds) -> Level:
    if grounds.verdict in {"joint", "over_determined"}:
        kind = "A set of changes" if grounds.verdict == "joint" else "Several causes, each enough,"
        some = "of all combinations only some were tried, each once, and another set may be enough as well"
        tried = "every combination was tried, each once" if grounds.exhaustive else some
        return Level(confidence="medium", rule=f"{kind} found by replay; {tried}.")
    if grounds.left_by_certificates:
        return Level(confidence="medium", rule="Certificates rule out every other change; it was not tested itself.")
    if not (grounds.enough and grounds.needed):
        way = "that it is enough" if grounds.enough else "that it is needed"
        return Level(confidence="medium", rule=f"One direction only: replays show {way}.")
    if doubt := _doubt(grounds):
        return Level(confidence="medium", rule=f"Both ways by replay, but {doubt}.")
    if grounds.gate.p is not None and not _beyond_chance(grounds.gate):
        return Level(confidence="medium", rule=f"Repeats make chance unlikely (p = {grounds.gate.p:.3g} < {ALPHA:g}).")
    return Level(confidence="medium", rule="Both ways by replay, but with new answers of a model that were drawn once.")


def _doubt(grounds: Grounds) -> str:
    """What speaks against a cause that replays show both ways; empty where nothing does."""
    doubts = (
        (
            grounds.borrowed,
            "with a tool's answer that only the other run recorded: its world may have been another one",
        ),
        (grounds.stood_in, "of a step that only one run has no more than what it gave: what else it did is not seen"),
        (grounds.follows, "it comes after another changed output: it may itself be a response to that"),
        (
            grounds.assumed,
            "on the way a step is assumed to be unaffected: nothing recorded explains all of its input",
        ),
        (
            grounds.derived,
            "the agent's own code ran between: it is taken to derive from equal answers what it derived before",
        ),
        (not grounds.only, "not every other change could be tried alone: one of them may be enough as well"),
    )
    return next((doubt for holds, doubt in doubts if holds), "")


def _beyond_chance(gate: NoiseGate) -> bool:
    return gate.status == GateStatus.NOT_NEEDED or (
        gate.status == GateStatus.REJECTED and gate.p is not None and gate.p < STRICT
    )
