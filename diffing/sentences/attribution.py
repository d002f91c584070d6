"""Sentences of an attribution: the verdict, its evidence, and the next experiment. Pure."""

from collections.abc import Mapping
from typing import Final, assert_never

from diffing.sentences import consequences
from diffing.sentences.changes import NO_DATA_FLOW, OPEN_CHANGES, SUSPICION
from diffing.sentences.text import count_noun, end_sentence, format_value, inside_sentence
from diffing.sentences.verdicts import (
    CertificateKind,
    Changes,
    ConfigurationDiffers,
    Divergence,
    Doubt,
    DoubtKind,
    Evidence,
    Exclusion,
    Experiment,
    ExperimentKind,
    JointChange,
    ManualAnswer,
    NoDifference,
    NoEffect,
    NoExplanation,
    NothingInCommon,
    OpenVerdict,
    Reason,
    ReasonKind,
    Resampling,
    SingleCause,
    Support,
    SupportKind,
    Trials,
    Verdict,
)

_REASONS: Final[Mapping[ReasonKind, str]] = {
    ReasonKind.PROMPT: "The prompt changed, so the model was asked something different",
    ReasonKind.UPSTREAM: "The user's message is part of what the model was asked",
    ReasonKind.RETRIEVAL: "The model was given different documents",
    ReasonKind.TOOL: "The tool returned a different result",
    ReasonKind.MODEL: "The model or its settings changed",
    ReasonKind.MODEL_ALONE: "The model or its settings changed; its request did not",
    ReasonKind.MODEL_AND_REQUEST: "The model or its settings changed; its request differs as well",
    ReasonKind.STRUCTURE: "Only one of the runs has this step, and no recorded change before it explains why",
    ReasonKind.OUTPUT: "The same request got a different answer, and no recorded change before it explains why",
    ReasonKind.CALL: "The call differs, and no recorded change before it explains why",
    ReasonKind.SET_BY_HAND: "The fork overrides the output of {step}",
}
_SUPPORTS: Final[Mapping[SupportKind, str]] = {
    SupportKind.KIND_ORDER: "Of several possible causes, the first by kind is named: prompt, user message, documents, "
    "tools, then the model and its settings.",
    SupportKind.TRIALS: "Both runs declare task {task} and the same configuration, and their recorded prompts, tools, "
    "models and parameters are the same.",
    SupportKind.SAME_REQUEST: "The request of {step} is the same in both runs; its answer is not.",
    SupportKind.DATA_FLOW: "Recorded data flow leads from it to the final answer.",
    SupportKind.NO_DATA_FLOW: "No recorded data flow leads from a change to the final answer, so only the order of the "
    "steps was used.",
    SupportKind.REPLAY: "One run is a replay of the other, so everything outside the change comes from the recording.",
    SupportKind.SEPARATE_RECORDINGS: "The runs were recorded separately, so chance may also have changed the answers.",
}
_CERTIFICATES: Final[Mapping[CertificateKind, str]] = {
    CertificateKind.SAME_ANSWER: "the final answer is the same in both runs",
    CertificateKind.SAME_OUTPUT: "the step gave the same output in both runs (inert)",
    CertificateKind.SAME_ON_EVERY_PATH: "every path from it to the final answer passes through an output that is the "
    "same in both runs (dominated)",
    CertificateKind.NO_PATH: "no recorded data flow leads from it to the final answer (unreached)",
}
_DOUBTS: Final[Mapping[DoubtKind, str]] = {
    DoubtKind.CONFIGURATION: "the different configurations that the runs declare ({settings}), whose effect was not "
    "recorded",
    DoubtKind.REQUEST: "the request of {step}, which was not recorded",
    DoubtKind.TEMPLATE: "a different template at {step}",
    DoubtKind.VARIABLES: "the prompt variables of {step}, which may or may not follow from an earlier difference",
    DoubtKind.USER: "the user's different message before {step}, which may or may not respond to an earlier difference",
    DoubtKind.UNREAD: "{step}{more}, whose contents were not compared",
    DoubtKind.SAME_CALL: "{step}, which answered the same call differently",
}


def sentence(verdict: Verdict) -> str:
    """The verdict in one or two sentences."""
    match verdict:
        case NoDifference() | NoEffect() | NothingInCommon() | NoExplanation() | OpenVerdict():
            return _without_cause(verdict)
        case Resampling() | Trials():
            return _by_chance(verdict)
        case JointChange() | ManualAnswer() | ConfigurationDiffers() | SingleCause():
            return _by_changes(verdict)
        case _:
            assert_never(verdict)


def _without_cause(verdict: NoDifference | NoEffect | NothingInCommon | NoExplanation | OpenVerdict) -> str:
    match verdict:
        case NoDifference():
            if verdict.settings:
                return f"No step differs between the two runs; their declared configurations do: {verdict.settings}."
            return "Nothing recorded differs between the two runs."
        case NoEffect():
            return _no_effect(verdict)
        case NothingInCommon():
            return "The two runs have nothing in common: no call of one corresponds to a call of the other."
        case NoExplanation():
            if verdict.unread is not None:
                return f"The final answers differ. The cause may be in {doubt(verdict.unread)}."
            return "The final answers differ, but nothing recorded before them does."
        case OpenVerdict():
            candidates = "which of these" if verdict.doubts else "which of these changes"
            names = "; ".join([_change_names(verdict.changes), *map(doubt, verdict.doubts)])
            return f"The final answers differ, and the recordings alone cannot show {candidates} is the cause: {names}."
        case _:
            assert_never(verdict)


def _by_chance(verdict: Resampling | Trials) -> str:
    match verdict:
        case Resampling():
            effect = end_sentence(consequences.predicate(verdict.consequence))
            before = f"before step {verdict.step}"
            beginning = (
                f"What differs {before} is not in its request"
                if verdict.has_earlier
                else f"Nothing recorded differs {before}"
            )
            return (
                f"{beginning}. There the model answered the same request "
                f"differently, which {effect} The cause is the model's randomness, or something that was not recorded."
            )
        case Trials():
            return _trials(verdict)
        case _:
            assert_never(verdict)


def _by_changes(verdict: JointChange | ManualAnswer | ConfigurationDiffers | SingleCause) -> str:
    match verdict:
        case JointChange():
            noun = "differences occurred" if verdict.has_resampling else "changes were made"
            finding = f"{verdict.count} {noun} together; which of them is the cause was not tested"
            return f"{finding}: {_change_names(verdict.changes)}. {consequences.statement(verdict.answer)}"
        case ManualAnswer():
            by_hand = f"The output of {verdict.step} was set by hand, so the outcome differs by construction."
            return f"{by_hand} {consequences.statement(verdict.answer)}"
        case ConfigurationDiffers():
            return (
                f"{SUSPICION}the runs declare different configurations ({verdict.settings}), and the effect of these "
                f"was not recorded. First recorded difference: {inside_sentence(verdict.change)}. "
                f"{consequences.statement(verdict.answer)}"
            )
        case SingleCause():
            return _single_cause(verdict)
        case _:
            assert_never(verdict)


def _no_effect(verdict: NoEffect) -> str:
    steps = count_noun(verdict.steps, "step")
    if not verdict.change:
        return f"{steps} {'differs' if verdict.steps == 1 else 'differ'}, but the final answer is the same."
    more = f" and {count_noun(verdict.more, 'more change')}" if verdict.more else ""
    return f"{verdict.change}{more} made {steps} differ, but the final answer is the same."


def _trials(verdict: Trials) -> str:
    counter = verdict.counter.replace("_", " ").removesuffix(" id")
    trials = f"task {verdict.task}, {counter} {format_value(verdict.base)} and {format_value(verdict.candidate)}"
    return (
        f"Probably chance: the runs are two trials of one task with one configuration ({trials}), and no recorded "
        f"prompt, tool, model or setting differs between them. They diverge at step {verdict.step}, where "
        f"{_divergence(verdict)}; in the end, {end_sentence(consequences.clause(verdict.answer))}"
    )


def _divergence(verdict: Trials) -> str:
    match verdict.divergence:
        case Divergence.SAME_REQUEST:
            return "the model answered the same request differently"
        case Divergence.ONE_SIDE:
            return f"only the {verdict.side} has a {verdict.step_type} step"
        case Divergence.USER:
            return "the user worded the request differently"
        case Divergence.MODEL:
            return "the model answered differently"
        case _:
            assert_never(verdict.divergence)


def _single_cause(verdict: SingleCause) -> str:
    """The cause with its consequence; without recorded data flow, it claims no effect."""
    cause = f"{SUSPICION}{inside_sentence(verdict.change)}" if verdict.is_suspicion else verdict.change
    if not verdict.has_data_flow:
        return f"{cause}. {consequences.statement(verdict.consequence.answer)}{NO_DATA_FLOW}"
    open_changes = end_sentence(f"{OPEN_CHANGES}{_change_names(verdict.open_changes)}") if verdict.open_changes else ""
    return f"{end_sentence(f'{cause} {consequences.predicate(verdict.consequence)}')}{open_changes}"


def _change_names(changes: Changes) -> str:
    more = [f"{changes.more} more"] if changes.more else []
    return "; ".join([*map(inside_sentence, changes.titles), *more])


def evidence(facts: Evidence) -> str:
    """One line of evidence for a verdict."""
    match facts:
        case Reason():
            return f"{reason(facts)}."
        case Support():
            return _SUPPORTS[facts.kind].format(step=facts.step, task=facts.task)
        case Exclusion():
            return f"Ruled out: {inside_sentence(facts.change)} — {_CERTIFICATES[facts.certificate]}."
        case Doubt():
            return f"Not ruled out either: {doubt(facts)}."
        case _:
            assert_never(facts)


def reason(facts: Reason) -> str:
    """Why a change may be the cause, without a full stop."""
    return _REASONS[facts.kind].format(step=facts.step)


def doubt(facts: Doubt) -> str:
    """Another possible cause of the difference, as a noun."""
    more = f" and {facts.more:,} more step{'' if facts.more == 1 else 's'}" if facts.more else ""
    return _DOUBTS[facts.kind].format(step=facts.step, settings=facts.settings, more=more)


def description(step: str, more: int, facts: Reason) -> str:
    """The steps that a change affects, and why it may be the cause."""
    also = f", and {count_noun(more, 'more step')}" if more else ""
    return f"At {step}{also}. {reason(facts)}."


def experiment(facts: Experiment | None) -> str:
    """The experiment that would settle the verdict; empty if none is needed."""
    if facts is None:
        return ""
    match facts.kind:
        case ExperimentKind.REPEAT_FROM:
            return f"Replay the base from step {facts.step} four times unchanged, to see how often the answer varies."
        case ExperimentKind.REPEAT:
            return "Replay the base unchanged four times: if the final answer varies, it is noise."
        case ExperimentKind.BOTH_WAYS:
            change = f" ({inside_sentence(facts.change)})" if facts.change else ""
            calls = f"about {count_noun(facts.calls, 'live model call')} each" if facts.calls else "no live model call"
            return (
                f"Replay the base from step {facts.step} with only this change{change}, and the candidate with only "
                f"this change reverted: 2 replays, {calls}."
            )
        case _:
            assert_never(facts.kind)
