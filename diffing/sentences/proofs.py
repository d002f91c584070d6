"""The sentences of a proof: its conclusion, confidence, assumptions, and what would settle it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from diffing.schemas.evidence import CertificateKind, NoiseGate
from diffing.sentences.findings import (
    AssumptionKind,
    ChanceKind,
    CoarserQuestion,
    Conclusion,
    ConclusionKind,
    GateReason,
    Rule,
    RuleKind,
    TrialKind,
)
from diffing.sentences.text import inside_sentence

# How a conclusion begins where the recorded models did not answer. Stored conclusions are recognised by it.
OTHER_MODELS: Final = "The live calls were answered by other models than the recorded ones: "
_BOTH_WAYS: Final = "Shown both ways by replay, but"
_SOME: Final = "found by replay; only some combinations were tried, each once, so another set may be enough as well."
_RULES: Final[Mapping[RuleKind, str]] = {
    RuleKind.WITHIN_CHANCE: "Unchanged repeats of each run vary as much as the two runs differ.",
    RuleKind.NO_CHANGE: "No recorded change separates the two runs.",
    RuleKind.SAME_OUTCOME: "The outcome is the same in both runs.",
    RuleKind.BUDGET: "The budget ran out before the search was complete.",
    RuleKind.OBSERVATION: "Observation only: no probe separates the changes.",
    RuleKind.CHANCE_OPEN: "Chance could not be ruled out: {reason}.",
    RuleKind.RECORDED_ANSWERS: "Replays show that it is enough and that it is needed; it holds for these two recorded runs, "
    "because every answer that was needed is recorded.",
    RuleKind.RECORDED_BEYOND_CHANCE: "Replays show that it is enough and that it is needed, with recorded answers; "
    "repeats of both runs rule out chance (p = {p:.3g}).",
    RuleKind.REPEATS: "Repeated replays show that it is enough and that it is needed, beyond the variation of "
    "unchanged repeats (adjusted p = {p:.3g} both ways).",
    RuleKind.JOINT: "A set of changes found by replay; every combination was tried, each once.",
    RuleKind.JOINT_OF_SOME: f"A set of changes {_SOME}",
    RuleKind.SEVERAL_CAUSES: "Several causes, each enough, found by replay; every combination was tried, each once.",
    RuleKind.SOME_OF_SEVERAL_CAUSES: f"Several causes, each enough, {_SOME}",
    RuleKind.LAST_CANDIDATE: "Certificates rule out every other change; this one was not tested itself.",
    RuleKind.SUFFICIENT: "One direction only: replays show that it is enough.",
    RuleKind.NECESSARY: "One direction only: replays show that it is needed.",
    RuleKind.BORROWED_ANSWER: f"{_BOTH_WAYS} with a tool's answer that only the other run recorded: the tool's state may have "
    "been different.",
    RuleKind.OUTPUT_ONLY: f"{_BOTH_WAYS} for a step that is in one run only, its output alone was replayed: its other "
    "effects are not seen.",
    RuleKind.POSSIBLE_RESPONSE: f"{_BOTH_WAYS} it comes after another changed output: it may itself be a response to that.",
    RuleKind.ASSUMPTION: f"{_BOTH_WAYS} a step on the path is assumed to be unaffected: nothing recorded explains all of "
    "its input.",
    RuleKind.AGENT_CODE: f"{_BOTH_WAYS} the agent's own code ran between: it is assumed to derive from equal answers what "
    "it derived before.",
    RuleKind.OTHERS_UNTESTED: f"{_BOTH_WAYS} not every other change could be tried alone: one of them may be enough as "
    "well.",
    RuleKind.UNLIKELY: "Repeats make chance unlikely (p = {p:.3g} < {alpha:g}).",
    RuleKind.SINGLE_SAMPLE: f"{_BOTH_WAYS} with new model answers that were drawn only once.",
}
_ASSUMPTIONS: Final[Mapping[AssumptionKind, str]] = {
    AssumptionKind.THIS_RUN: "It holds for this run: answers that no change reaches are the recorded ones, not new "
    "samples.",
    AssumptionKind.NEW_ANSWER: "A decisive probe drew a new answer from a model; another draw may differ.",
    AssumptionKind.OUTPUT_ONLY: "A step that is in one run only had no effect but the output that later steps used.",
    AssumptionKind.BORROWED_ANSWER: "A tool call that only one run made would get the same answer in the other.",
    AssumptionKind.AGENT_CODE: "The agent's own code derives from equal answers what it derived from them in the "
    "recordings.",
    AssumptionKind.UNEXPLAINED_INPUT: "A step on the path is not affected by the changes, although part of its input is "
    "unexplained.",
    AssumptionKind.OTHER_DIFFERENCES: "All listed changes together do not turn the base into the candidate: other things "
    "differ as well.",
    AssumptionKind.SAME_MODELS: "The models answer today as they did when the runs were recorded.",
    AssumptionKind.OUTSIDE: "What no recording contains (state outside the run, the clock) did not change between the "
    "runs.",
    AssumptionKind.SEPARATE: "The runs were recorded separately: differences besides the listed changes are assumed "
    "to be chance.",
    AssumptionKind.PROVIDERS: "Models answered at different times; a provider may have changed a model in between.",
}
_GATE: Final[Mapping[GateReason, str]] = {
    GateReason.NOT_NEEDED: "nothing was repeated, because no answer that differs was drawn from a model when these two "
    "runs were made",
    GateReason.RULED_OUT: "unchanged repeats of the two sides differ from each other beyond chance",
    GateReason.NOT_RULED_OUT: "unchanged repeats of the two sides do not differ beyond chance",
    GateReason.NOT_REPEATABLE: "the runs cannot be repeated ({problem})",
    GateReason.TOO_FEW: "it takes at least {first} unchanged repeats of each side",
    GateReason.TOO_FEW_ALLOWED: "it takes at least {first} unchanged repeats of each side, and {most} are allowed",
    GateReason.INCOMPLETE: "the repeats are not finished",
}
_CERTIFICATES: Final[Mapping[CertificateKind, str]] = {
    "inert": "every step that it acts on gave the same output in both runs",
    "dominated": "every path from it to the final answer passes through a step that gave the same output in both runs",
    "unreached": "no recorded data flow leads from it to the final answer",
}
_CHANCE: Final[Mapping[ChanceKind, str]] = {
    ChanceKind.TRIALS: "both runs are trials of task {task} with one configuration, and no recorded setting differs "
    "between them",
    ChanceKind.RESAMPLING: "nothing recorded differs before step {step}, where a model answered the same request "
    "differently",
}
REPEAT_FAILED: Final = "a repeat failed"


def rule(facts: Rule) -> str:
    """The row of the table that gave the confidence."""
    return _RULES[facts.kind].format(p=facts.p, alpha=facts.alpha, reason=facts.reason)


def gate_reason(kind: GateReason, *, problem: str = "", first: int = 0, most: int = 0) -> str:
    """Why chance is ruled out, or is not, as a clause."""
    return _GATE[kind].format(problem=problem, first=first, most=most)


def certificate(kind: CertificateKind) -> str:
    """Why taking a change back cannot matter, as a clause."""
    return _CERTIFICATES[kind]


def chance(kind: ChanceKind, *, task: str = "", step: int = 0) -> str:
    """Why no change can have made the difference, as a clause."""
    return _CHANCE[kind].format(task=task, step=step)


def assumption(facts: AssumptionKind | CoarserQuestion) -> str:
    """What was compared in place of what was asked, or what has to be true."""
    if isinstance(facts, AssumptionKind):
        return _ASSUMPTIONS[facts]
    differ = "differ on the way" if facts.differs_on_the_way else f"differ from each other in {facts.exact}"
    measures = f"so {facts.exact} measures" if facts.differs_on_the_way else "which measures"
    return (
        f"Compared: {facts.coarse}. Repeats of the unchanged base {differ}, {measures} wording and no decision. "
        f"The finer question is `{facts.exact_kind}`, this one `{facts.coarse_kind}`."
    )


def repeat_rate(gate: NoiseGate) -> str:
    """How often unchanged repeats gave what their own side recorded."""
    base, candidate = gate.base_n - gate.base_flips, gate.candidate_n - gate.candidate_flips
    return (
        f"{base} of {gate.base_n} unchanged repeats of the base and {candidate} of {gate.candidate_n} of the candidate "
        "came out as recorded"
    )


def experiment(kind: TrialKind, *, repeats: int = 0, titles: Sequence[str] = ()) -> str:
    """What would settle a finding."""
    names = _listed(list(map(inside_sentence, titles))) if titles else ""
    match kind:
        case TrialKind.REPEAT:
            return f"Repeat both sides {repeats} times unchanged, to rule out chance."
        case TrialKind.BOTH_WAYS:
            return f"Replay the base with only this change, and the candidate without it: {names}."
        case TrialKind.RUN_BOTH:
            return f"Run the agent itself with and without this change, and record both: {names}."
        case TrialKind.RUN_ALL:
            return (
                "Run the agent itself as the base with all listed changes made, and record that: any difference that "
                "remains was not recorded."
            )
        case _:
            assert_never(kind)


def conclusion(facts: Conclusion) -> str:
    """The finding in one sentence, after the models that answered in place of the recorded ones."""
    text = _conclusion(facts)
    if facts.chance_open:
        text = f"{text.removesuffix('.')}; whether chance alone did it was not tested."
    more = [f"{facts.more_models} more"] if facts.more_models else []
    return f"{OTHER_MODELS}{_listed([*facts.models, *more])}. {text}" if facts.models else text


_FIXED: Final[Mapping[ConclusionKind, str]] = {
    ConclusionKind.NO_EFFECT: "Both runs have the same outcome, so there is no effect to explain.",
    ConclusionKind.CHANCE: "Chance made the difference: {reason}.",
    ConclusionKind.UNTESTABLE: "The outcomes differ, and no recorded change could be tested by a replay.",
    ConclusionKind.NO_PROOF: "Nothing was proved: {reason}.",
    ConclusionKind.WORDING: "Repeated unchanged, each run comes out differently every time, and never as the other run "
    "does: what was compared is wording, which cannot tell a change from chance.",
    ConclusionKind.UNRECORDED_CAUSE: "All known changes together do not make the difference: something that was not recorded "
    "did.",
}


def _conclusion(facts: Conclusion) -> str:
    if facts.kind in _FIXED:
        return _FIXED[facts.kind].format(reason=facts.reason)
    if facts.kind is ConclusionKind.WITHIN_CHANCE:
        p = "" if facts.gate.p is None else f" (p = {facts.gate.p:.2g})"
        return f"The difference is within chance{p}: {repeat_rate(facts.gate)}."
    if facts.kind is ConclusionKind.INSEPARABLE:
        why = f": {facts.reason}" if facts.reason else ""
        return f"The replays cannot show which change made the difference{why}."
    return _of_changes(facts, facts.sets[0])


def _of_changes(facts: Conclusion, titles: Sequence[str]) -> str:
    """A conclusion that names changes; none is claimed to have done what chance may have done."""
    made = "may have made the difference" if facts.chance_open else "made the difference"
    names = _listed([title if not at else inside_sentence(title) for at, title in enumerate(titles)])
    one = len(titles) == 1
    clauses = {
        ConclusionKind.BOTH_WAYS: f"{made}: alone it gives the base the candidate's outcome, and without it that "
        "outcome is gone.",
        ConclusionKind.SUFFICIENT: "is enough for the difference; whether it is needed could not be tested.",
        ConclusionKind.NECESSARY: "is needed for the difference; whether it is enough could not be tested.",
        ConclusionKind.LAST_CANDIDATE: "is the only change that recorded data flow does not rule out; no replay could test it.",
        ConclusionKind.JOINT: f"{made} only together: tried once each, none of them was enough without the others.",
        ConclusionKind.ALL_NECESSARY: f"{'is' if one else 'are'} needed for the difference, but not enough as far as "
        "could be tested.",
        ConclusionKind.NOT_ALONE: "is enough for the difference, but something else is enough without it.",
    }
    return f"{names} {clauses[facts.kind]}" if facts.kind in clauses else _of_several(facts)


def _of_several(facts: Conclusion) -> str:
    sets = [list(map(inside_sentence, titles)) for titles in facts.sets]
    if facts.kind is ConclusionKind.SEVERAL_CAUSES:
        more = f", or {facts.more} more sets" if facts.more else ""
        ways = "; or ".join(map(_listed, sets))
        return f"The difference has several causes; tried once each, each was enough alone: {ways}{more}."
    names = _listed([*sets[0], *([f"{facts.more} more"] if facts.more else [])])
    if facts.kind is ConclusionKind.ONE_OF_THESE:
        return f"The cause is among these changes; which of them could not be tested: {names}."
    return (
        "The changes that a replay can make do not make the difference together. The cause was not recorded, or is "
        f"among those that no replay can make: {names}."
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
