"""Findings in words: one sentence, what they rest on, and what would settle what is open. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.report.evidence import OTHER_MODELS, kept
from diffing.schemas.evidence import CheapestExperiment, EvidenceVerdict, GateStatus, NoiseGate
from replay.proofs.core.types import Atom, Atoms, Seen
from replay.proofs.ladder import noise_gate
from replay.proofs.ladder.ladder import Ladder

_NAMED: Final = 3
_SETTLING: Final = 5  # repeats of each side: five against five, all different, have p = 0.008


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the sentences are about."""

    ladder: Ladder
    kind: EvidenceVerdict
    sets: tuple[Atoms, ...]
    gate: NoiseGate


def conclusion(told: Told) -> str:
    """The finding in one sentence, after the models that answered in place of the recorded ones."""
    said = _found(told)
    if told.sets and told.kind != "inconclusive" and told.gate.status == GateStatus.NOT_RUN:
        said = f"{said.removesuffix('.')}; whether chance alone did it was not tested."
    return f"{_other_models(told.ladder)}{said}"


def _other_models(ladder: Ladder) -> str:
    probes = ladder.facts.probes.values()
    names = [*dict.fromkeys(name for probe in probes for name in probe.seen.other_models)]
    if not names:
        return ""
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return f"{OTHER_MODELS}{_listed([*names[:_NAMED], *more])}. "


def _found(told: Told) -> str:
    match told.kind:
        case "no_effect":
            return "Both runs have the same outcome: nothing that changed had an effect on it."
        case "noise":
            return _noise(told.gate)
        case "inconclusive":
            return _inconclusive(told)
        case "single":
            return _single(told)
        case "joint":
            return _joint(told)
        case "over_determined":
            return _either(told)


def outcomes(seen: Iterable[Seen]) -> str:
    """What repeats came to, counted."""
    words = {"base": "as in the base", "candidate": "as in the candidate", "other": "something else"}
    counts = Counter(words.get(each.outcome, "could not run") for each in seen)
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def assumptions(told: Told, *, drawn: bool) -> list[str]:
    """What was compared instead of what was asked, and what has to be true for the finding to be."""
    found = _coarsened(told.ladder)
    if told.kind in {"single", "joint", "over_determined"} and not told.gate.base_n:
        found.append("It holds for this run: answers that no change touches are the recorded ones, not new samples.")
    if drawn:
        found.append("A decisive probe drew a new answer from a model; another draw may differ.")
    space = told.ladder.space
    if told.sets and any(atom.id in told.sets[0] and atom.category == "structure" for atom in space.atoms):
        found.append("A step that only one run has did nothing but what others were given by it.")
    if told.sets and told.ladder.borrowed(told.sets[0]):
        found.append("A tool call that only one of the runs made is taken to be answered the same in the other.")
    if told.sets and told.ladder.derived(told.sets[0]):
        found.append("The agent's own code derives from equal answers what it derived from them in the recordings.")
    if told.sets and told.ladder.assumed(told.sets[0]):
        found.append("A step on the way is not affected by the changes, although part of its input is not explained.")
    if not space.one and told.sets and space.enough(space.all) is False:
        found.append(
            "All listed changes together do not turn the base into the candidate: other things differ as well."
        )
    if told.gate.base_n:
        found.append("The models answer today as they did when the runs were recorded.")
    return found


def _coarsened(ladder: Ladder) -> list[str]:
    asked, compared = ladder.case.question, ladder.question
    if compared is asked:
        return []
    base, _ = noise_gate.sides(ladder.space)
    differ = "give other answers on the way" if base.stray() else f"differ from each other in {asked.text}"
    which = f"{asked.text} measures" if base.stray() else "which measures"
    return [
        f"Compared was {compared.text}: repeats of the unchanged base {differ}, {'so ' if base.stray() else ''}{which} "
        f"wording and no decision. The finer question is `{asked.kind}`, this one `{compared.kind}`."
    ]


def cheapest(told: Told, *, sure: bool) -> CheapestExperiment | None:
    """What would settle it, and for how much."""
    if sure or not told.ladder.case.differs:
        return None
    if told.gate.status == GateStatus.NOT_RUN:
        text = f"Repeat both sides {_SETTLING} times unchanged, to rule out chance."
        return _priced(told, text, 2 * _SETTLING)
    open_ = [atom for atom in _chosen(told) if _unknown(told, atom)]
    if not open_:
        return _by_hand(told)
    names = _listed([_inner(atom.title) for atom in open_[:_NAMED]])
    text = f"Replay the base with only this change, and the candidate without it: {names}."
    return _priced(told, text, 2 * len(open_))


def _by_hand(told: Told) -> CheapestExperiment | None:
    """Where no replay can tell any more: the agent itself can. What that costs nobody here knows."""
    if told.kind in {"joint", "over_determined"}:
        return None  # every member was tried: it is known as well as it can be
    untried = [atom for atom in told.ladder.case.atoms if not atom.testable]
    if untried:
        names = _listed([_inner(atom.title) for atom in untried[:_NAMED]])
        text = f"Run the agent itself with and without this change, and record both: {names}."
        return CheapestExperiment(text=text, replays=0, live_calls=0, cost_usd=None)
    if told.kind == "inconclusive" and told.ladder.space.enough(told.ladder.space.all) is False:
        text = (
            "Run the agent itself as the base with all listed changes made, and record that: what still differs then "
            "was not recorded."
        )
        return CheapestExperiment(text=text, replays=0, live_calls=0, cost_usd=None)
    return None


def _chosen(told: Told) -> Sequence[Atom]:
    """The changes that an experiment should be about: those found so far, else all."""
    found = frozenset[str]().union(*told.sets)
    atoms = told.ladder.space.atoms
    return [atom for atom in atoms if atom.id in found] or [atom for atom in atoms if atom.certificate is None]


def _unknown(told: Told, atom: Atom) -> bool:
    space, alone = told.ladder.space, frozenset({atom.id})
    return space.enough(space.with_required(alone)) is None or space.needed(alone) is None


def _priced(told: Told, text: str, replays: int) -> CheapestExperiment:
    case = told.ladder.case
    cost = None if case.live_cost_usd is None else round(replays * case.live_cost_usd, 6)
    return CheapestExperiment(text=text, replays=replays, live_calls=replays * case.live_calls, cost_usd=cost)


def _noise(gate: NoiseGate) -> str:
    if gate.status == GateStatus.NOT_NEEDED:
        return f"Chance made the difference: {gate.reason}."
    p = "" if gate.p is None else f" (p = {gate.p:.2g})"
    return f"The difference is within what chance makes{p}: repeated with nothing changed, {kept(gate)}."


def _single(told: Told) -> str:
    ladder = told.ladder
    [atom] = _members(told, told.sets[0])
    enough, needed = ladder.space.enough(told.sets[0]), ladder.space.needed(told.sets[0])
    if enough and needed:
        said = f"{_made(told)}: alone it gives the base the candidate's outcome, and without it that is gone."
    elif enough:
        said = "is enough for the difference; whether it is needed could not be tested."
    elif needed:
        said = "is needed for the difference; whether it is enough could not be tested."
    else:
        said = "is the only change that the recorded data flow leaves; no replay could test it."
    return f"{atom.title} {said}"


def _made(told: Told) -> str:
    """Nothing is said to have done what chance may have done."""
    return "may have made the difference" if told.gate.status == GateStatus.NOT_RUN else "made the difference"


def _joint(told: Told) -> str:
    names = _listed([atom.title if not at else _inner(atom.title) for at, atom in _numbered(told, told.sets[0])])
    if told.ladder.space.enough(told.sets[0]):
        return f"{names} {_made(told)} only together: tried once each, none of them was enough without the others."
    verb = "is" if len(told.sets[0]) == 1 else "are"
    return f"{names} {verb} needed for the difference, and not enough as far as could be tested."


def _either(told: Told) -> str:
    ways = [_listed([_inner(atom.title) for atom in _members(told, one)]) for one in told.sets[:_NAMED]]
    if len(ways) == 1:
        return f"{_capital(ways[0])} is enough for the difference, but without it something else is as well."
    more = f", or {len(told.sets) - _NAMED} more sets" if len(told.sets) > _NAMED else ""
    either = "; or ".join(ways)
    return f"The difference has more causes than it needs; tried once each, each was enough alone: {either}{more}."


def _inconclusive(told: Told) -> str:
    ladder = told.ladder
    if not ladder.space.atoms:
        return "The outcomes differ, and no recorded change could be tested by a replay."
    if told.gate.status == GateStatus.NOT_RUN and not ladder.made():
        return f"Nothing is proved: {told.gate.reason}."
    if told.sets:
        names = _listed([_inner(atom.title) for atom in _members(told, told.sets[0])])
        return f"It is among these changes, and which of them could not be tested: {names}."
    if ladder.is_unanswerable:
        return (
            "Each run, repeated unchanged, comes out otherwise each time, and never as the other run does: what was "
            "compared is wording, and tells no change from chance."
        )
    if ladder.space.enough(ladder.space.all) is False:
        return _not_made(told)
    missed = [
        (bool(ask.repeat), probe.seen.missing) for ask, probe in ladder.facts.probes.items() if probe.seen.missing
    ]
    missing = min(missed, default=(False, ""), key=lambda each: each[0])[1]  # what a probe missed says more
    why = f": {missing}" if missing else ""
    return f"The replays cannot say which change made the difference{why}."


def _not_made(told: Told) -> str:
    """The difference is there without what was applied. Unrecorded is only what no recorded difference can be."""
    left = [atom for atom in told.ladder.case.atoms if not atom.testable]
    if not left:
        return "All known changes together do not make the difference: something that was not recorded did."
    names = [_inner(atom.title) for atom in left[:_NAMED]]
    more = [f"{len(left) - _NAMED} more"] if len(left) > _NAMED else []
    return (
        "All changes that a replay can make do not make the difference together; it is in what no replay can make, or "
        f"was not recorded: {_listed([*names, *more])}."
    )


def _numbered(told: Told, atoms: Atoms) -> list[tuple[int, Atom]]:
    return list(enumerate(_members(told, atoms)))


def _members(told: Told, atoms: Atoms) -> list[Atom]:
    return [atom for atom in told.ladder.space.atoms if atom.id in atoms]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _inner(text: str) -> str:
    return text[:1].lower() + text[1:]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
