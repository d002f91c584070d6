"""Effects of a cause: the first differing call, the first differing result, the final answer. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.placeholders import FAILED, idle_side, is_placeholder
from diffing.compare.run_side import SideStep
from diffing.content.facet import Facet
from diffing.content.payload_texts import content_text
from diffing.sentences.text import display_text, format_value, pointer_name
from diffing.sentences.verdicts import (
    Answer,
    AnswerChange,
    Call,
    CallChange,
    Consequence,
    Result,
    ResultChange,
    RunSide,
)
from diffing.sequences.json_diff import value_changes
from diffing.sequences.text_diff import deleted_text, difference_excerpts, edit_spans, inserted_text
from traces.core.vocabulary import StepType

# Characters quoted of an answer, and of an argument or a result.
_QUOTE: Final = 90
_BRIEF: Final = 60
_OUTCOMES: Final = ("status", "state", "outcome", "decision", "result", "success", "accepted", "approved", "error")
Facets = Mapping[int, Sequence[Facet]]


def consequence(
    comparison: Comparison, facets: Facets, ahead: Sequence[Pair], before: Sequence[Pair] = ()
) -> Consequence:
    """The consequence of a cause, up to the final answer. `before`: the pairs that lead to that answer."""
    return Consequence(
        call=next(_calls(ahead, facets), None),
        result=next(_results(ahead, facets), None),
        answer=answer(comparison, facets, before),
    )


def answer(comparison: Comparison, facets: Facets, before: Sequence[Pair] = ()) -> Answer:
    """How the final answers differ; an answer that depends on a placeholder is not the agent's."""
    final = comparison.final
    for pair in before:
        if placeholder := _placeholder(pair):
            return placeholder
    if final is not None and final.sides is None:
        return Answer(kind=AnswerChange.ONE_SIDE, side="base" if final.base else "candidate")
    for facet in facets.get(final.place, ()) if final else ():
        if facet.kind in {"final answer", "completion"}:
            return _answer(content_text(facet.base), content_text(facet.candidate))
    return Answer()


def _calls(ahead: Sequence[Pair], facets: Facets) -> Iterator[Call]:
    """Calls with different arguments, and calls of one run alone, in order."""
    for pair in ahead:
        if pair.step.type not in {StepType.TOOL, StepType.RETRIEVAL}:
            continue
        if pair.sides is None:
            kind = CallChange.MISSING_CALL if pair.base else CallChange.EXTRA_CALL
            yield Call(kind=kind, tool=pair.step.display_name)
        for facet in facets.get(pair.place, ()):
            if facet.kind in {"arguments", "query"}:
                yield from _arguments(pair, facet)


def _arguments(pair: Pair, facet: Facet) -> Iterator[Call]:
    tool = pair.step.display_name
    if facet.form == "text":
        base, candidate = difference_excerpts(display_text(facet.base), display_text(facet.candidate), _BRIEF)
        yield Call(
            kind=CallChange.ARGUMENT_CHANGED, tool=tool, argument="query", base=f"“{base}”", candidate=f"“{candidate}”"
        )
        return
    for change in value_changes(facet.base, facet.candidate, limit=2)[:1]:
        yield Call(
            kind=_ARGUMENTS[change.op],
            tool=tool,
            argument=pointer_name(change.path),
            base=format_value(change.base),
            candidate=format_value(change.candidate),
        )


_ARGUMENTS: Final = {
    "changed": CallChange.ARGUMENT_CHANGED,
    "added": CallChange.ARGUMENT_ADDED,
    "removed": CallChange.ARGUMENT_REMOVED,
}


def _results(ahead: Sequence[Pair], facets: Facets) -> Iterator[Result]:
    """Different results of tool calls, in order."""
    for pair in ahead:
        if pair.step.type != StepType.TOOL or pair.sides is None or idle_side(*pair.sides):
            continue
        base, candidate = pair.sides
        if (base.status in FAILED) != (candidate.status in FAILED):
            kind = ResultChange.SUCCESS if base.status in FAILED else ResultChange.FAILURE
            yield Result(kind=kind, tool=pair.step.display_name)
        for facet in facets.get(pair.place, ()):
            if facet.kind == "result":
                yield from _result(pair, facet)


def _result(pair: Pair, facet: Facet) -> Iterator[Result]:
    tool = pair.step.display_name
    if facet.form == "text":
        base, candidate = difference_excerpts(display_text(facet.base), display_text(facet.candidate), _BRIEF)
        yield Result(kind=ResultChange.TEXT, tool=tool, base=base, candidate=candidate)
        return
    changes = value_changes(facet.base, facet.candidate, limit=40)
    for name in _OUTCOMES:
        for change in changes:
            if pointer_name(change.path) == name and change.op == "changed":
                base, candidate = format_value(change.base), format_value(change.candidate)
                yield Result(kind=ResultChange.FIELD, tool=tool, field=name, base=base, candidate=candidate)


def _placeholder(pair: Pair) -> Answer | None:
    """The answer change if one side did not run the step; None if both ran it."""
    sides: tuple[tuple[RunSide, SideStep | None], ...] = (("candidate", pair.candidate), ("base", pair.base))
    for side, step in sides:
        if step is not None and is_placeholder(step):
            return Answer(kind=AnswerChange.NOT_RUN, side=side, tool=step.display_name, reason=step.reason)
    return None


def _answer(base: str, candidate: str) -> Answer:
    before, after = difference_excerpts(base, candidate, _QUOTE)
    if not candidate.strip():
        return Answer(kind=AnswerChange.REMOVAL, base=before)
    if not base.strip():
        return Answer(kind=AnswerChange.ADDITION, candidate=after)
    spans = edit_spans(base, candidate)
    deletions, insertions = difference_excerpts(deleted_text(spans), inserted_text(spans), _QUOTE)
    equal_length = sum(len(span.text) for span in spans if span.op == "equal")
    if deletions and not insertions:
        return Answer(kind=AnswerChange.CUT, base=deletions)
    if equal_length > max(len(insertions), len(deletions)):
        return Answer(kind=AnswerChange.EDIT, base=deletions, candidate=insertions)
    return Answer(kind=AnswerChange.REPLACEMENT, base=before, candidate=after)
