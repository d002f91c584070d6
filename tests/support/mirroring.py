"""Comparable summary of a report, to check that swapping the sides mirrors the report."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from diffing.schemas.report import DiffReport
from diffing.schemas.sections import SectionItem
from diffing.schemas.terms import StepRef
from traces.core.canonical import digest

_SWAPPED_OPERATIONS = {"added": "removed", "removed": "added"}
_SECTIONS = ("prompt", "retrieval", "tool", "model", "output", "run")


def essence(report: DiffReport, *, is_swapped: bool = False) -> dict[str, Any]:
    """Summarise a report. `swapped` gives the expected summary of the report with swapped sides."""
    orient = _swap_sides if is_swapped else _same_sides
    sign = -1 if is_swapped else 1
    deltas, attribution = report.deltas, report.attribution
    return {
        "pairs": Counter(
            (
                *orient(_no(pair.base), _no(pair.candidate)),
                _op(pair.relation, is_swapped),
                pair.found_by,
                pair.confidence,
                tuple(pair.changes),
            )
            for pair in report.pairs
        ),
        "sections": {name: _items(getattr(report.sections, name).items, is_swapped) for name in _SECTIONS},
        "unavailable": {
            name: Counter(
                (gap.what, _reason(gap.reason, is_swapped)) for gap in getattr(report.sections, name).unavailable
            )
            for name in _SECTIONS
        },
        "deltas": [
            None if value is None else round(sign * value, 6) + 0.0
            for value in (deltas.tokens, deltas.cost_usd, deltas.duration_ms, deltas.steps)
        ],
        "counts": (deltas.spans_with_differences, deltas.output_changes, deltas.token_changes, deltas.cost_changes),
        "similarity": (report.scores.output_similarity, report.scores.determinism),
        "verdict": (attribution.verdict, attribution.confidence),
        "causes": Counter(
            (cause.category, *orient(_no(cause.base), _no(cause.candidate)))
            for cause in (*([attribution.primary] if attribution.primary else []), *attribution.alternatives)
        ),
    }


def is_empty(report: DiffReport) -> bool:
    """Return whether a report shows no difference at all."""
    items = [item for name in _SECTIONS for item in getattr(report.sections, name).items]
    unchanged = all(pair.relation == "same" and not pair.changes for pair in report.pairs)
    return unchanged and not items and report.attribution.verdict == "no_difference" and report.deltas.steps == 0


def _reason(text: str, is_swapped: bool) -> str:
    """Reason of a gap; one that names a single side names the other one."""
    swaps = {"for the base": "for the candidate", "for the candidate": "for the base"}
    end = next((words for words in swaps if is_swapped and text.endswith(words)), "")
    return text.removesuffix(end) + swaps.get(end, "")


def _items(items: Iterable[SectionItem], is_swapped: bool) -> Counter[Any]:
    orient = _swap_sides if is_swapped else _same_sides
    return Counter(
        (
            item.kind,
            _op(item.relation, is_swapped),
            *orient(_no(item.base), _no(item.candidate)),
            item.similarity,
            frozenset(
                (_op(change.op, is_swapped), *orient(digest(change.base), digest(change.candidate)))
                for change in item.values
            ),
            frozenset(
                (_op(change.op, is_swapped), change.document, *orient(change.base_rank, change.candidate_rank))
                for change in (item.ranks.changes if item.ranks else ())
            ),
            (item.ranks.rbo, item.ranks.kendall_tau) if item.ranks else None,
            frozenset(
                (_op(change.op, is_swapped), change.role, *orient(change.base_index, change.candidate_index))
                for change in item.messages
            ),
        )
        for item in items
    )


def _op(name: str, is_swapped: bool) -> str:
    return _SWAPPED_OPERATIONS.get(name, name) if is_swapped else name


def _no(step: StepRef | None) -> int | None:
    return None if step is None else step.sequence_no


def _same_sides(base: Any, candidate: Any) -> tuple[Any, Any]:
    return base, candidate


def _swap_sides(base: Any, candidate: Any) -> tuple[Any, Any]:
    return candidate, base


_Turn = Callable[[Any, Any], tuple[Any, Any]]
