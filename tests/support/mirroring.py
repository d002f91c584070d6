"""A report with its sides swapped: what has to be true of every diff, in a form that can be compared."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from diffing.schemas.report import DiffReport, SectionItem
from diffing.schemas.terms import StepRef
from traces.core.canonical import digest

_FLIPPED = {"added": "removed", "removed": "added"}
_SECTIONS = ("prompt", "retrieval", "tool", "model", "output", "run")


def essence(report: DiffReport, *, swapped: bool = False) -> dict[str, Any]:
    """What a report says; `swapped` says it as the report of the other direction should have said it."""
    turn = _turned if swapped else _straight
    sign = -1 if swapped else 1
    deltas, found = report.deltas, report.attribution
    return {
        "pairs": Counter(
            (
                *turn(_no(pair.base), _no(pair.candidate)),
                _op(pair.relation, swapped),
                pair.found_by,
                pair.confidence,
                tuple(pair.changes),
            )
            for pair in report.pairs
        ),
        "sections": {name: _items(getattr(report.sections, name).items, swapped) for name in _SECTIONS},
        "unavailable": {
            name: Counter((gap.what, gap.reason) for gap in getattr(report.sections, name).unavailable)
            for name in _SECTIONS
        },
        "deltas": [
            None if value is None else round(sign * value, 6) + 0.0
            for value in (deltas.tokens, deltas.cost_usd, deltas.duration_ms, deltas.steps)
        ],
        "counts": (deltas.spans_with_differences, deltas.output_changes, deltas.token_changes, deltas.cost_changes),
        "similarity": (report.scores.output_similarity, report.scores.determinism),
        "verdict": (found.verdict, found.confidence),
        "causes": Counter(
            (cause.category, *turn(_no(cause.base), _no(cause.candidate)))
            for cause in (*([found.primary] if found.primary else []), *found.alternatives)
        ),
    }


def is_empty(report: DiffReport) -> bool:
    """Whether it says that nothing differs at all."""
    items = [item for name in _SECTIONS for item in getattr(report.sections, name).items]
    same = all(pair.relation == "same" and not pair.changes for pair in report.pairs)
    return same and not items and report.attribution.verdict == "no_difference" and report.deltas.steps == 0


def _items(items: Iterable[SectionItem], swapped: bool) -> Counter[Any]:
    turn = _turned if swapped else _straight
    return Counter(
        (
            item.kind,
            _op(item.relation, swapped),
            *turn(_no(item.base), _no(item.candidate)),
            item.similarity,
            frozenset(
                (_op(each.op, swapped), *turn(digest(each.base), digest(each.candidate))) for each in item.values
            ),
            frozenset(
                (_op(each.op, swapped), each.document, *turn(each.base_rank, each.candidate_rank))
                for each in (item.ranks.changes if item.ranks else ())
            ),
            (item.ranks.rbo, item.ranks.kendall_tau) if item.ranks else None,
            frozenset(
                (_op(each.op, swapped), each.role, *turn(each.base_index, each.candidate_index))
                for each in item.messages
            ),
        )
        for item in items
    )


def _op(name: str, swapped: bool) -> str:
    return _FLIPPED.get(name, name) if swapped else name


def _no(step: StepRef | None) -> int | None:
    return None if step is None else step.sequence_no


def _straight(one: Any, other: Any) -> tuple[Any, Any]:
    return one, other


def _turned(one: Any, other: Any) -> tuple[Any, Any]:
    return other, one


_Turn = Callable[[Any, Any], tuple[Any, Any]]
