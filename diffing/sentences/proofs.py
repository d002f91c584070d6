"""The sentences of a proof: its conclusion, confidence, assumptions, and what would settle it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from diffing.schemas.evidence import CertificateKind, NoiseGate, ProbeOutcome
from diffing.sentences.findings import (
    AssumptionKind,
    ChanceKind,
    CoarserQuestion,
    Conclusion,
    ConclusionKind,
    GateReason,
    PlanWarning,
    Rule,
    RuleKind,
    TrialKind,
    WarningKind,
)
from diffing.sentences.text import inside_sentence

# Prefix of a conclusion if other models than the recorded ones answered. Stored conclusions are recognised by it.
OTHER_MODELS: Final = "The live calls were answered by other models than the recorded ones: "
_BOTH_WAYS: Final = "Replays show it both ways, but"
_SOME_COMBINATIONS: Final = (
    "found by replay; only some combinations were tried, each once, so another set may also be sufficient."
)
_RULES: Final[Mapping[RuleKind, str]] = {
    RuleKind.WITHIN_CHANCE: "Unchanged repeats of each run vary as much as the two runs differ.",
    RuleKind.NO_CHANGE: "No recorded change separates the two runs.",
    RuleKind.SAME_OUTCOME: "The outcome is the same in both runs.",
    RuleKind.BUDGET: "The budget was used up before the search was complete.",
    RuleKind.OBSERVATION: "Observation only: no probe separates the changes.",
    RuleKind.CHANCE_OPEN: "Chance could not be ruled out: {reason}.",
    RuleKind.RECORDED_ANSWERS: "Replays show that it is sufficient and necessary. This holds for these two recorded "
    "runs, because every answer that was needed is recorded.",
    RuleKind.RECORDED_BEYOND_CHANCE: "Replays with recorded answers show that it is sufficient and necessary; repeats "
    "of both runs rule out chance (p = {p:.3g}).",
    RuleKind.REPEATS: "Repeated replays show that it is sufficient and necessary, beyond the variation of unchanged "
    "repeats (adjusted p = {p:.3g} both ways).",
    RuleKind.JOINT: "A set of changes found by replay; every combination was tried, each once.",
    RuleKind.JOINT_OF_SOME: f"A set of changes {_SOME_COMBINATIONS}",
    RuleKind.SEVERAL_CAUSES: "Several sufficient causes found by replay; every combination was tried, each once.",
    RuleKind.SOME_OF_SEVERAL_CAUSES: f"Several sufficient causes {_SOME_COMBINATIONS}",
    RuleKind.LAST_CANDIDATE: "Certificates rule out every other change; this one was not tested itself.",
    RuleKind.SUFFICIENT: "One direction only: replays show that it is sufficient.",
    RuleKind.NECESSARY: "One direction only: replays show that it is necessary.",
    RuleKind.INCOMPLETE: "Replays show that it is necessary, but not what else the difference needs.",
    RuleKind.BORROWED_ANSWER: f"{_BOTH_WAYS} with a tool's answer that only the other run recorded; the tool's state "
    "may have been different.",
    RuleKind.OUTPUT_ONLY: f"{_BOTH_WAYS} only the output of an unpaired step was replayed, not its other effects.",
    RuleKind.POSSIBLE_RESPONSE: f"{_BOTH_WAYS} it comes after another changed output and may be a response to it.",
    RuleKind.COMMON_ORIGIN: f"{_BOTH_WAYS} the agent's own code composed it or asked another agent, and may have "
    "derived that from an earlier change.",
    RuleKind.ASSUMPTION: f"{_BOTH_WAYS} a step on the path is assumed to be unaffected, although the recordings do not "
    "explain all of its input.",
    RuleKind.AGENT_CODE: f"{_BOTH_WAYS} the agent's own code ran in between; it is assumed to derive the same from "
    "equal answers.",
    RuleKind.CHOSEN_WORDS: "Replays show it, but only if the agent's code is the same in both runs: what it composed "
    "differs in words that no earlier output explains.",
    RuleKind.OTHER_FORM: f"{_BOTH_WAYS} the answers differ from the recorded ones in case or spacing, which this "
    "question ignores; another change may have made that.",
    RuleKind.OTHERS_UNTESTED: f"{_BOTH_WAYS} not every other change could be tried alone; one of them may also be "
    "sufficient.",
    RuleKind.LESS_DETAIL: "One of the runs records less than the other: no model calls, system prompts, searches or "
    "templates of prompts. What it does not record may have made the difference.",
    RuleKind.UNLIKELY: "Repeats make chance unlikely (p = {p:.3g} < {alpha:g}).",
    RuleKind.SINGLE_SAMPLE: f"{_BOTH_WAYS} with new model answers that were sampled only once.",
}
_ASSUMPTIONS: Final[Mapping[AssumptionKind, str]] = {
    AssumptionKind.THIS_RUN: "This holds for this run: answers that no change reaches are the recorded ones, not new "
    "samples.",
    AssumptionKind.NEW_ANSWER: "A decisive probe sampled a new answer from a model; another sample may differ.",
    AssumptionKind.OUTPUT_ONLY: "A step that only one run has affected later steps by its output alone.",
    AssumptionKind.BORROWED_ANSWER: "A tool call that only one run made would get the same answer in the other.",
    AssumptionKind.AGENT_CODE: "The agent's own code derives the same from equal answers as it did in the recordings.",
    AssumptionKind.UNEXPLAINED_INPUT: "A step on the path is not affected by the changes, although the recordings do "
    "not explain all of its input.",
    AssumptionKind.OTHER_DIFFERENCES: "All listed changes together do not turn the base into the candidate: there are "
    "other differences.",
    AssumptionKind.SAME_MODELS: "The models answer today as they did when the runs were recorded.",
    AssumptionKind.OUTSIDE: "What no recording contains (state outside the run, the clock) did not change between the "
    "runs.",
    AssumptionKind.SEPARATE: "The runs were recorded separately: differences besides the listed changes are assumed "
    "to be chance.",
    AssumptionKind.PROVIDERS: "Models answered at different times; a provider may have changed a model in between.",
    AssumptionKind.AGENT_RAN: "The agent itself ran in every probe, and its code decided what followed from each "
    "change. It is the agent that the runner starts today; started unchanged, it did what is recorded.",
    AssumptionKind.ONE_PROGRAM: "The agent that the runner starts reproduces only one of the two recordings; both "
    "sides were tested with it, from that recording.",
    AssumptionKind.OTHER_CODE: "The two runs declare different versions of the agent's code, so a changed result is "
    "not taken as the cause of what code composed without a trace of it.",
}
_GATE: Final[Mapping[GateReason, str]] = {
    GateReason.NOT_NEEDED: "no repeats were needed, because no differing answer was sampled from a model when these "
    "two runs were made",
    GateReason.RULED_OUT: "unchanged repeats of the two sides differ from each other beyond chance",
    GateReason.NOT_RULED_OUT: "unchanged repeats of the two sides do not differ beyond chance",
    GateReason.NOT_REPEATABLE: "the runs cannot be repeated ({problem})",
    GateReason.TOO_FEW: "this takes at least {first} unchanged repeats of each side",
    GateReason.TOO_FEW_ALLOWED: "this takes at least {first} unchanged repeats of each side, and {most} are allowed",
    GateReason.INCOMPLETE: "the repeats are not finished",
    GateReason.UNUSUAL: "unchanged repeats of the two sides differ beyond chance, but the outcome recorded for one "
    "side is not the most frequent one of its repeats",
    GateReason.NOT_RECOGNISABLE: "unchanged repeats do not resemble their own recording more than the other one",
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
    """The reason for the confidence of a finding."""
    return _RULES[facts.kind].format(p=facts.p, alpha=facts.alpha, reason=facts.reason)


def gate_reason(kind: GateReason, *, problem: str = "", first: int = 0, most: int = 0) -> str:
    """Why chance is or is not ruled out, as a clause."""
    return _GATE[kind].format(problem=problem, first=first, most=most)


def certificate(kind: CertificateKind) -> str:
    """Why reverting a change has no effect, as a clause."""
    return _CERTIFICATES[kind]


def chance(kind: ChanceKind, *, task: str = "", step: int = 0) -> str:
    """Why no change can have made the difference, as a clause."""
    return _CHANCE[kind].format(task=task, step=step)


# Questions about the words of an answer.
_TEXT_QUESTIONS: Final = frozenset({"answer", "answer_exact"})


def assumption(facts: AssumptionKind | CoarserQuestion) -> str:
    """An assumption of a finding, or the note that a coarser question was compared."""
    if isinstance(facts, AssumptionKind):
        return _ASSUMPTIONS[facts]
    differ = "differ on the way" if facts.differs_on_the_way else f"differ from each other in {facts.exact}"
    measures = f"so {facts.exact} measures" if facts.differs_on_the_way else "which measures"
    is_text = facts.exact_kind in _TEXT_QUESTIONS
    effect = f"{measures} wording, not a decision" if is_text else "so that none of them is what it always does"
    return (
        f"Compared: {facts.coarse}. Repeats of the unchanged {facts.side} {differ}, {effect}. "
        f"The finer question is `{facts.exact_kind}`, this one `{facts.coarse_kind}`."
    )


def repeat_rate(gate: NoiseGate) -> str:
    """How many unchanged repeats had the outcome of their own recording."""
    base, candidate = gate.base_n - gate.base_flips, gate.candidate_n - gate.candidate_flips
    return (
        f"{base} of {gate.base_n} unchanged repeats of the base and {candidate} of {gate.candidate_n} of the candidate "
        "came out as recorded"
    )


def plan_warning(facts: PlanWarning) -> str:
    """A limit of a proof that is known before it starts."""
    match facts.kind:
        case WarningKind.LIVE_REPLAYS:
            replays = "1 replay needs" if facts.count == 1 else f"{facts.count} replays need"
            return (
                f"{replays} new answers from models, because no recorded answer fits a changed request. "
                "Chance affects everything that follows such an answer."
            )
        case WarningKind.SAME_OUTCOME:
            return "Both runs have the same outcome, so there is nothing to prove."
        case WarningKind.CHANCE:
            return (
                f"No probe is needed, because the difference is chance: {facts.reason}. "
                "Repeats would show how often it happens."
            )
        case WarningKind.NO_LIVE_CALLS:
            return (
                "Answers were sampled from a model. Without live calls, chance cannot be ruled out; only stored "
                "repeats count."
            )
        case WarningKind.FEW_REPEATS:
            return f"Fewer than {facts.count} repeats of each side cannot rule out chance."
        case WarningKind.AGENT_DECIDES:
            return (
                "The agent runs again and decides what it does after a change, so the numbers of live calls are "
                "estimates; the budget limits them."
            )
        case _:
            assert_never(facts.kind)


def no_provider(model: str) -> str:
    """Why a model cannot be asked again, as a clause."""
    return f"no provider is configured for {model}"


_ACTIVITIES: Final[Mapping[str, str]] = {
    "controls": "Starting the agent unchanged, to see whether it does what is recorded",
    "noise": "Repeating both runs unchanged, to measure chance",
    "search": "Applying and reverting the changes",
    "shares": "Trying combinations",
    "parts": "Looking inside the cause",
    "mediators": "Following the effect step by step",
}


def stage_activity(stage: str) -> str:
    """What a proof is doing in a stage; empty between stages."""
    return _ACTIVITIES.get(stage, "")


_OUTCOMES: Final[Mapping[str, str]] = {
    ProbeOutcome.BASE: "as in the base",
    ProbeOutcome.CANDIDATE: "as in the candidate",
    ProbeOutcome.OTHER: "something else",
}


def outcome_counts(counts: Mapping[str, int]) -> str:
    """The outcomes of repeats; those without an outcome could not run."""
    texts: dict[str, int] = {}
    for outcome, count in counts.items():
        text = _OUTCOMES.get(outcome, "could not run")
        texts[text] = texts.get(text, 0) + count
    return ", ".join(f"{count} {text}" for text, count in texts.items())


def experiment(kind: TrialKind, *, repeats: int = 0, titles: Sequence[str] = ()) -> str:
    """The experiment that would settle a finding."""
    names = _enumerate(list(map(inside_sentence, titles))) if titles else ""
    match kind:
        case TrialKind.REPEAT:
            return f"Repeat both sides {repeats} times unchanged, to rule out chance."
        case TrialKind.BOTH_WAYS:
            return f"Replay the base with only this change, and the candidate without it: {names}."
        case TrialKind.RUN_BOTH:
            return f"Run the agent itself with and without this change, and record both: {names}."
        case TrialKind.RUN_ALL:
            return (
                "Run the agent itself as the base with all listed changes, and record it: any remaining difference "
                "was not recorded."
            )
        case _:
            assert_never(kind)


def conclusion(facts: Conclusion) -> str:
    """The finding in one sentence, preceded by the models that answered instead of the recorded ones."""
    text = _conclusion(facts)
    if facts.chance_open:
        text = f"{text.removesuffix('.')}; chance alone may also explain it."
    more = [f"{facts.more_models} more"] if facts.more_models else []
    return f"{OTHER_MODELS}{_enumerate([*facts.models, *more])}. {text}" if facts.models else text


_FIXED_TEXTS: Final[Mapping[ConclusionKind, str]] = {
    ConclusionKind.NO_EFFECT: "Both runs have the same outcome, so there is no effect to explain.",
    ConclusionKind.CHANCE: "The difference is chance: {reason}.",
    ConclusionKind.UNTESTABLE: "The outcomes differ, and no recorded change could be tested by a replay.",
    ConclusionKind.NO_PROOF: "Nothing was proved: {reason}.",
    ConclusionKind.WORDING: "Unchanged repeats of each run all differ, and none matches the other run. The comparison "
    "measures wording, which cannot separate a change from chance.",
    ConclusionKind.UNRECORDED_CAUSE: "All known changes together do not make the difference; the cause was not "
    "recorded.",
}


def _conclusion(facts: Conclusion) -> str:
    if facts.kind in _FIXED_TEXTS:
        return _FIXED_TEXTS[facts.kind].format(reason=facts.reason)
    if facts.kind is ConclusionKind.WITHIN_CHANCE:
        p = "" if facts.gate.p is None else f" (p = {facts.gate.p:.2g})"
        return f"The difference is within chance{p}: {repeat_rate(facts.gate)}."
    if facts.kind is ConclusionKind.INSEPARABLE:
        reason = f": {facts.reason}" if facts.reason else ""
        return f"The replays cannot show which change made the difference{reason}."
    return _of_changes(facts, facts.sets[0])


def _of_changes(facts: Conclusion, titles: Sequence[str]) -> str:
    """A conclusion about named changes; it says "may have" as long as chance is not ruled out."""
    effect = "may have made the difference" if facts.chance_open else "made the difference"
    names = _enumerate([title if not at else inside_sentence(title) for at, title in enumerate(titles)])
    verb = "is" if len(titles) == 1 else "are"
    clauses = {
        ConclusionKind.BOTH_WAYS: f"{effect}: applying only this change gives the candidate's outcome, and removing "
        "only this change makes it disappear.",
        ConclusionKind.SUFFICIENT: "is sufficient for the difference; whether it is necessary could not be tested.",
        ConclusionKind.NECESSARY: "is necessary for the difference; whether it is sufficient could not be tested.",
        ConclusionKind.LAST_CANDIDATE: "is the only change that recorded data flow does not rule out; no replay could "
        "test it.",
        ConclusionKind.JOINT: f"{effect} only together: tried once each, none was sufficient without the others.",
        ConclusionKind.ALL_NECESSARY: f"{verb} necessary for the difference, but not sufficient as far as could be "
        "tested.",
        ConclusionKind.NOT_ALONE: f"{verb} sufficient for the difference, but so is something else without it.",
    }
    return f"{names} {clauses[facts.kind]}" if facts.kind in clauses else _of_several(facts)


def _of_several(facts: Conclusion) -> str:
    sets = [list(map(inside_sentence, titles)) for titles in facts.sets]
    if facts.kind is ConclusionKind.SEVERAL_CAUSES:
        more = f", or {facts.more} more sets" if facts.more else ""
        ways = "; or ".join(map(_enumerate, sets))
        return f"The difference has several causes; tried once each, each was sufficient alone: {ways}{more}."
    names = _enumerate([*sets[0], *([f"{facts.more} more"] if facts.more else [])])
    if facts.kind is ConclusionKind.ONE_OF_THESE:
        return f"The cause is one of these changes; which one could not be tested: {names}."
    return (
        "All changes that a replay can make do not make the difference together. The cause was not recorded, or it is "
        f"one of those that no replay can make: {names}."
    )


def _enumerate(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
