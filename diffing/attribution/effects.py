"""What a cause did, in the order in which it happened: other arguments, another outcome, another answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from diffing.attribution.wording import as_text, leaf, shown
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.placeholders import FAILED, idle_side, stands_in, why
from diffing.content.facets import Facet
from diffing.content.message_diff import content_text
from diffing.sequences.json_diff import value_changes
from diffing.sequences.text_diff import apart, deleted, inserted, normalise, word_diff
from traces.core.vocabulary import StepType

_QUOTED: Final = 90  # characters
_BRIEF: Final = 60
_OUTCOMES: Final = ("status", "state", "outcome", "decision", "result", "success", "accepted", "approved", "error")
Facets = Mapping[int, Sequence[Facet]]


def told(comparison: Comparison, facets: Facets, ahead: Sequence[Pair], before: Sequence[Pair] = ()) -> str:
    """The predicate of the verdict: what followed, up to the final answer. `before`: the pairs that led to that."""
    did = next(_calls(ahead, facets), "")
    outcome = next(_outcomes(ahead, facets), "")
    final = _final(comparison, facets, before)
    if did and outcome:
        return f"{did}, so {outcome}, and {final.clause}"
    if did:
        return f"{did}, and {final.clause}"
    return f"meant that {outcome}, and {final.clause}" if outcome else final.predicate


def ended(comparison: Comparison, facets: Facets, before: Sequence[Pair] = ()) -> str:
    """What became of the final answer, without saying what did it."""
    return _final(comparison, facets, before).clause


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
        base, candidate = apart(as_text(facet.base), as_text(facet.candidate), _BRIEF)
        yield f"changed {pair.step.called}'s query from “{base}” to “{candidate}”"
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
        if pair.step.type != StepType.TOOL or pair.both is None or idle_side(*pair.both):
            continue
        base, candidate = pair.both
        if (base.status in FAILED) != (candidate.status in FAILED):
            went = "succeeded instead of failing" if base.status in FAILED else "failed instead of succeeding"
            yield f"{pair.step.called} {went}"
        for facet in facets.get(pair.place, ()):
            if facet.kind == "result":
                yield from _result(pair, facet)


def _result(pair: Pair, facet: Facet) -> Iterator[str]:
    if facet.form == "text":
        base, candidate = apart(as_text(facet.base), as_text(facet.candidate), _BRIEF)
        yield f"{pair.step.called} answered “{candidate}” instead of “{base}”"
        return
    changes = value_changes(facet.base, facet.candidate, limit=40)
    for name in _OUTCOMES:
        for change in changes:
            if leaf(change.path) == name and change.op == "changed":
                yield f"{pair.step.called}'s {name} was {shown(change.candidate)} instead of {shown(change.base)}"


class _Effect(NamedTuple):
    """What became of the final answer, as a clause of its own and as what a cause did."""

    clause: str
    predicate: str


def _final(comparison: Comparison, facets: Facets, before: Sequence[Pair]) -> _Effect:
    """What the final answer says now, by the few words that differ; what came of a placeholder is nobody's answer."""
    final = comparison.final
    for pair in before:
        if stood := _placeholder(pair):
            return _Effect(stood, f"cannot be judged by the final answer: {stood}")
    if final is not None and final.both is None:
        side = "base" if final.base else "candidate"
        return _Effect(f"only the {side} gives a final answer", f"left only the {side} with a final answer")
    for facet in facets.get(final.place, ()) if final else ():
        if facet.kind in {"final answer", "completion"}:
            return _answer(content_text(facet.base), content_text(facet.candidate))
    return _Effect("the final answer changed", "changed the final answer")


def _placeholder(pair: Pair) -> str:
    """That the final answer comes of a step that one side did not run; empty where it does not."""
    for side, step in (("candidate", pair.candidate), ("base", pair.base)):
        if step is not None and stands_in(step):
            return (
                f"the {side} did not run {step.called} ({why(step)}), so its final answer is not what the agent would "
                "have said"
            )
    return ""


def _answer(base: str, candidate: str) -> _Effect:
    whole = apart(base, candidate, _QUOTED)
    if not candidate.strip():
        return _Effect(f"the answer “{whole[0]}” is gone", f"left no answer where it was “{whole[0]}”")
    if not base.strip():
        return _Effect(f"there is an answer now: “{whole[1]}”", f"gave the answer “{whole[1]}” where there was none")
    spans = word_diff(normalise(base), normalise(candidate))
    gone, come = apart(deleted(spans), inserted(spans), _QUOTED)
    kept = sum(len(span.text) for span in spans if span.op == "equal")
    if gone and not come:
        return _Effect(f"the answer no longer says “{gone}”", f"took “{gone}” out of the answer")
    if kept > max(len(come), len(gone)):
        instead = f" instead of “{gone}”" if gone else ""
        return _Effect(f"the answer now says “{come}”{instead}", f"made the answer say “{come}”{instead}")
    return _Effect(
        f"the answer became “{whole[1]}” instead of “{whole[0]}”", f"turned the answer “{whole[0]}” into “{whole[1]}”"
    )
