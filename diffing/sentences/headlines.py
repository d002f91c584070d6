"""The headline of a report: what changed, and what it did, in at most two lines. Pure."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, assert_never

from diffing.compare.placeholders import idle_side
from diffing.content.facet import Facet
from diffing.schemas.report import Headline
from diffing.sentences import consequences
from diffing.sentences.changes import TEXTS, facet_phrase
from diffing.sentences.text import count_noun, display_text, end_sentence
from diffing.sentences.verdicts import (
    Answer,
    AnswerChange,
    Call,
    CallChange,
    Changes,
    ConfigurationDiffers,
    Consequence,
    JointChange,
    ManualAnswer,
    NoDifference,
    NoEffect,
    NoExplanation,
    NothingInCommon,
    OpenVerdict,
    Resampling,
    Result,
    ResultChange,
    SingleCause,
    Trials,
    Verdict,
)
from diffing.sequences.text_diff import deleted_text, edit_spans, inserted_text, shorten

# Characters of a change that is quoted; a longer one is named.
_QUOTE: Final = 44
# Characters of a change, and of two values of an effect.
_NAME: Final = 76
_VALUES: Final = 48
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)")
_HEDGE: Final = "may have "
_ANSWERS: Final[Mapping[AnswerChange, str]] = {
    AnswerChange.ONE_SIDE: "left only the {answer.side} with a final answer",
    AnswerChange.REMOVAL: "removed the final answer",
    AnswerChange.ADDITION: "produced an answer where there was none",
}
_RESULTS: Final[Mapping[ResultChange, str]] = {
    ResultChange.SUCCESS: "{tool} succeeded",
    ResultChange.FAILURE: "{tool} failed",
    ResultChange.TEXT: "{tool} answered differently",
    ResultChange.FIELD: "{owner} {result.field} was {result.candidate} instead of {result.base}",
}
_CHANGED_ANSWER: Final = "changed the final answer"
_CHANCE: Final = "Probably chance:"


def change_name(facet: Facet) -> str:
    """A change by name, quoted only if it is short: “One added sentence in the system prompt”."""
    is_placeholder = facet.part == "output" and idle_side(facet.pair.base, facet.pair.candidate) != ""
    if facet.kind in TEXTS and not is_placeholder:
        return _edit_name(facet) or _short(facet_phrase(facet))
    if facet.kind == "message list" and len(facet.messages) == 1:
        item = facet.messages[0]
        return f"{_MESSAGES[item.op]} {item.role or 'history'} message"
    return _short(facet_phrase(facet))


_MESSAGES: Final = {"added": "An added", "removed": "A removed", "changed": "A different"}


def sample_name(step: int) -> str:
    """A different answer of a model that no change explains."""
    return f"A different answer to the same request at step {step}"


def _edit_name(facet: Facet) -> str:
    """An edit of a long text by its size; empty if the edit is short enough to quote."""
    spans = edit_spans(display_text(facet.base), display_text(facet.candidate))
    deletions, insertions = deleted_text(spans), inserted_text(spans)
    if len(deletions) + len(insertions) <= _QUOTE:
        return ""
    if not display_text(facet.base).strip():
        return f"Adding {TEXTS[facet.kind]}"
    if not display_text(facet.candidate).strip():
        return f"Removing {TEXTS[facet.kind]}"
    if insertions and deletions:
        return f"An edit of {TEXTS[facet.kind]}"
    adjective, text = ("added", insertions) if insertions else ("removed", deletions)
    return f"{_size(text.strip(), adjective)} in {TEXTS[facet.kind]}"


def _size(text: str, adjective: str) -> str:
    count = len(_SENTENCE_END.findall(text))
    if not text.endswith((".", "!", "?")):
        return f"{adjective.capitalize()} text"
    return f"One {adjective} sentence" if count == 1 else f"{count} {adjective} sentences"


def _short(phrase: str) -> str:
    """A phrase without its details, and with balanced quotation marks."""
    if len(phrase) <= _NAME:
        return phrase
    text = shorten(phrase.partition(" (")[0], _NAME)
    return f"{text}”" if text.count("“") > text.count("”") else text


def headline(verdict: Verdict, change: str) -> Headline:
    """The headline of a verdict by the recordings; `change` names its first change."""
    match verdict:
        case NoDifference() | NoEffect() | NothingInCommon() | NoExplanation() | OpenVerdict():
            return Headline(cause="", effect=_without_cause(verdict, change))
        case Resampling() | Trials():
            return Headline(cause=_CHANCE, effect=_by_chance(verdict))
        case JointChange():
            noun = "differences" if verdict.has_resampling else "changes"
            return Headline(
                cause=f"{verdict.count} {noun} together", effect=_CHANGED_ANSWER, caution="none was tested alone"
            )
        case ManualAnswer():
            return Headline(cause=f"Setting the output of {verdict.step} by hand", effect=_CHANGED_ANSWER)
        case ConfigurationDiffers():
            cause = f"Different configurations ({shorten(verdict.settings, _QUOTE)})"
            return Headline(cause=cause, effect=f"{_HEDGE}{_CHANGED_ANSWER}", caution="their effect was not recorded")
        case SingleCause():
            return _single_cause(verdict, change)
        case _:
            assert_never(verdict)


def _without_cause(
    verdict: NoDifference | NoEffect | NothingInCommon | NoExplanation | OpenVerdict, change: str
) -> str:
    match verdict:
        case NoDifference():
            settings = "Only the declared configurations differ"
            return settings if verdict.settings else "Nothing recorded differs between the two runs"
        case NoEffect():
            steps = count_noun(verdict.steps, "step")
            if change:
                return f"{change} made {steps} differ, but not the final answer"
            return f"{steps} {'differs' if verdict.steps == 1 else 'differ'}, but the final answer is the same"
        case NothingInCommon():
            return "The two runs have no calls in common"
        case NoExplanation():
            if verdict.unread is not None:
                steps = count_noun(1 + verdict.unread.more, "step")
                return f"The final answers differ, and the contents of {steps} were not compared"
            return "The final answers differ, but nothing recorded before them does"
        case OpenVerdict():
            count = _count(verdict.changes) + len(verdict.doubts)
            return f"The final answers differ, and the recordings do not show which of {count} changes is the cause"
        case _:
            assert_never(verdict)


def _by_chance(verdict: Resampling | Trials) -> str:
    if isinstance(verdict, Trials):
        return f"the runs are two trials of task {verdict.task}, and diverge at step {verdict.step}"
    effect, caution = _effect(verdict.consequence)
    parts = [f"the model answered the same request differently at step {verdict.step}", effect and f"which {effect}"]
    return "; ".join(filter(None, [", ".join(filter(None, parts)), caution]))


def _single_cause(verdict: SingleCause, change: str) -> Headline:
    if not verdict.has_data_flow:
        effect = f"{_HEDGE}{_CHANGED_ANSWER}"
        return Headline(cause=change, effect=effect, caution="no recorded data flow connects them")
    effect, caution = _effect(verdict.consequence)
    if verdict.open_changes:
        count = count_noun(_count(verdict.open_changes), "other change")
        caution = caution or f"{count} not ruled out"
    if not effect:
        return Headline(cause=change, effect="cannot be judged by the final answer", caution=caution)
    return Headline(cause=change, effect=f"{_HEDGE if verdict.is_suspicion else ''}{effect}", caution=caution)


def _count(changes: Changes) -> int:
    return len(changes.titles) + changes.more


def _effect(facts: Consequence) -> tuple[str, str]:
    """The first effects as a predicate, and what the answer does not show; no effect if a step did not run."""
    answer = facts.answer
    is_untested = answer.kind == AnswerChange.NOT_RUN
    caution = f"the {answer.side} did not run {answer.tool}" if is_untested else ""
    parts = [
        _call(facts.call) if facts.call else "",
        _result(facts.result, facts.call) if facts.result else "",
    ]
    effect = ", so ".join(filter(None, parts))
    if effect and facts.call is None:
        effect = f"meant that {effect}"
    return effect or ("" if is_untested else _answer(answer)), caution


def _call(call: Call) -> str:
    if call.kind == CallChange.ARGUMENT_CHANGED and len(call.base) + len(call.candidate) > _VALUES:
        return f"changed {consequences.argument_name(call)}"
    return consequences.call_predicate(call)


def _result(result: Result, call: Call | None) -> str:
    is_same = call is not None and call.tool == result.tool
    kind = result.kind
    if kind == ResultChange.FIELD and len(result.base) + len(result.candidate) > _VALUES:
        kind = ResultChange.TEXT
    tool, owner = ("it", "its") if is_same else (result.tool, f"{result.tool}'s")
    return _RESULTS[kind].format(result=result, tool=tool, owner=owner)


def _answer(answer: Answer) -> str:
    is_short = len(answer.base) + len(answer.candidate) <= _VALUES
    if answer.kind in {AnswerChange.EDIT, AnswerChange.REPLACEMENT} and answer.base and is_short:
        return f"changed “{answer.base}” to “{answer.candidate}” in the answer"
    return _ANSWERS.get(answer.kind, _CHANGED_ANSWER).format(answer=answer)


class ProofKind(StrEnum):
    """What the headline of a proof names."""

    SINGLE = "single"
    JOINT = "joint"
    SEVERAL_CAUSES = "several_causes"
    CHANCE = "chance"
    NO_EFFECT = "no_effect"


def proof_headline(kind: ProofKind, titles: Sequence[str], *, has_other_models: bool = False) -> Headline:
    """The headline of a proof that names other causes than the recordings."""
    caution = "other models than the recorded ones answered" if has_other_models else ""
    match kind:
        case ProofKind.SINGLE:
            return Headline(cause=_short(titles[0]), effect=_CHANGED_ANSWER, caution=caution)
        case ProofKind.JOINT:
            return Headline(cause=f"{len(titles)} changes together", effect=_CHANGED_ANSWER, caution=caution)
        case ProofKind.SEVERAL_CAUSES:
            cause = f"Each of {len(titles)} changes"
            return Headline(cause=cause, effect="is enough to change the final answer", caution=caution)
        case ProofKind.CHANCE:
            return Headline(cause="Within chance:", effect="the runs differ no more than their own repeats do")
        case ProofKind.NO_EFFECT:
            return Headline(cause="", effect="No change was found to affect the final answer", caution=caution)
        case _:
            assert_never(kind)


def confirm(observation: Headline) -> Headline:
    """The headline of a cause that replays confirm, without its doubts."""
    return Headline(cause=observation.cause, effect=observation.effect.removeprefix(_HEDGE))


def text(facts: Headline) -> str:
    """A headline as one sentence."""
    return end_sentence("; ".join(filter(None, [f"{facts.cause} {facts.effect}".strip(), facts.caution])))
