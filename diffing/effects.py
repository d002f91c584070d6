"""What a cause did, in the order in which it happened: other arguments, another outcome, another answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from diffing.comparison import Comparison, Pair
from diffing.facets import Facet
from diffing.messages import content_text
from diffing.structure import value_changes
from diffing.text import deleted, inserted, normalise, shortened, word_diff
from diffing.wording import as_text, leaf, shown
from traces.vocabulary import StepStatus, StepType

_QUOTED: Final = 90
_OUTCOMES: Final = ("status", "state", "outcome", "decision", "result", "success", "accepted", "approved", "error")
_FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.DENIED})
Facets = Mapping[int, Sequence[Facet]]


def told(comparison: Comparison, facets: Facets, ahead: Sequence[Pair]) -> str:
    """The predicate of the verdict: what followed, up to the final answer."""
    did = next(_calls(ahead, facets), "")
    outcome = next(_outcomes(ahead, facets), "")
    final = _final(comparison, facets)
    if did and outcome:
        return f"{did}, so {outcome}{f', and {final}' if final else ''}"
    if did or outcome:
        first = did or f"led to this: {outcome}"
        return f"{first}{f', and {final}' if final else ''}"
    return f"changed the final answer: {final}" if final else "changed the final answer"


def _calls(ahead: Sequence[Pair], facets: Facets) -> Iterator[str]:
    """Other arguments of a tool, or a tool that is called by one run only; the first one tells the story."""
    for pair in ahead:
        if pair.step.type not in {StepType.TOOL, StepType.RETRIEVAL}:
            continue
        if pair.both is None:
            verb = "kept the agent from calling" if pair.base else "made the agent call"
            yield f"{verb} {pair.step.called}"
        for facet in facets.get(pair.place, ()):
            if facet.kind in {"arguments", "query"}:
                yield from _arguments(pair, facet)


def _arguments(pair: Pair, facet: Facet) -> Iterator[str]:
    if facet.form == "text":
        yield f"changed {pair.step.called}'s query from “{shortened(as_text(facet.base), 60)}” to “{shortened(as_text(facet.candidate), 60)}”"
        return
    changes = value_changes(facet.base, facet.candidate, limit=2)
    for change in changes[:1]:
        name = f"{pair.step.called}'s {leaf(change.path)}".removesuffix(" ")
        if change.op == "changed":
            yield f"changed {name} from {shown(change.base)} to {shown(change.candidate)}"
        elif change.op == "added":
            yield f"gave {pair.step.called} {leaf(change.path)} {shown(change.candidate)} as well"
        else:
            yield f"left {leaf(change.path)} out of the call of {pair.step.called}"


def _outcomes(ahead: Sequence[Pair], facets: Facets) -> Iterator[str]:
    """How a tool call ended otherwise than before."""
    for pair in ahead:
        if pair.step.type != StepType.TOOL or pair.both is None:
            continue
        base, candidate = pair.both
        if (base.status in _FAILED) != (candidate.status in _FAILED):
            yield f"{pair.step.called} {'succeeded instead of failing' if base.status in _FAILED else 'failed instead of succeeding'}"
        for facet in facets.get(pair.place, ()):
            if facet.kind == "result":
                yield from _result(pair, facet)


def _result(pair: Pair, facet: Facet) -> Iterator[str]:
    if facet.form == "text":
        yield f"{pair.step.called} answered “{shortened(as_text(facet.candidate), 60)}” instead of “{shortened(as_text(facet.base), 60)}”"
        return
    changes = value_changes(facet.base, facet.candidate, limit=40)
    for name in _OUTCOMES:
        for change in changes:
            if leaf(change.path) == name and change.op == "changed":
                yield f"{pair.step.called}'s {name} was {shown(change.candidate)} instead of {shown(change.base)}"


def _final(comparison: Comparison, facets: Facets) -> str:
    """What the final answer says now, by the few words that differ."""
    final = comparison.final
    if final is None:
        return ""
    if final.both is None:
        return f"only the {'base' if final.base else 'candidate'} gives a final answer"
    for facet in facets.get(final.place, ()):
        if facet.kind in {"final answer", "completion"}:
            return _answer(content_text(facet.base), content_text(facet.candidate))
    return ""


def _answer(base: str, candidate: str) -> str:
    if not candidate.strip():
        return f"the answer “{shortened(base, _QUOTED)}” is gone"
    if not base.strip():
        return f"the answer is now “{shortened(candidate, _QUOTED)}”"
    spans = word_diff(normalise(base), normalise(candidate))
    gone, come = deleted(spans), inserted(spans)
    kept = sum(len(span.text) for span in spans if span.op == "equal")
    if come and kept > max(len(come), len(gone)):
        instead = f" instead of “{shortened(gone, _QUOTED)}”" if gone else ""
        return f"the answer now says “{shortened(come, _QUOTED)}”{instead}"
    if gone and not come:
        return f"the answer no longer says “{shortened(gone, _QUOTED)}”"
    return f"the answer became “{shortened(candidate, _QUOTED)}” instead of “{shortened(base, _QUOTED)}”"
