"""Comparison of two ranked lists of retrieved documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, NamedTuple

from diffing.schemas.sections import RankChange, RankComparison
from traces.core.canonical import digest
from traces.core.json_access import as_list, as_string, is_number, member, text_or_json
from traces.core.json_types import JSONValue

# Weight of depth in rank-biased overlap: the first ten ranks carry 86 %.
PERSISTENCE: Final = 0.9
# Documents of one list that are compared.
_MAX_DOCUMENTS: Final = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedDocument:
    """A document of a list; `key` identifies it in both lists."""

    key: str
    title: str
    score: float | None
    text: str = ""


class RewrittenDocument(NamedTuple):
    """A document of both lists whose text differs."""

    title: str
    base: str
    candidate: str


def rewritten_documents(base: JSONValue, candidate: JSONValue) -> list[RewrittenDocument]:
    """The documents of both lists whose text differs, in the order of the base."""
    new = {item.key: item for item in rank_documents(candidate)}
    pairs = [(item, new[item.key]) for item in rank_documents(base) if item.key in new]
    return [
        RewrittenDocument(after.title, before.text, after.text) for before, after in pairs if before.text != after.text
    ]


def rank_documents(documents: JSONValue) -> list[RankedDocument]:
    """The documents of a retrieval's output, identified by id, else by content; repeats get a number."""
    items = as_list(documents)
    counts: dict[str, int] = {}
    result = []
    for item in items[:_MAX_DOCUMENTS]:
        document = _ranked_document(item)
        counts[document.key] = counts.get(document.key, 0) + 1
        key = f"{document.key} ({counts[document.key]})" if counts[document.key] > 1 else document.key
        result.append(replace(document, key=key))
    return result


def compare(base: Sequence[RankedDocument], candidate: Sequence[RankedDocument]) -> RankComparison:
    """Compare the ranks of all documents, by candidate rank, removed documents last."""
    old = {item.key: (rank, item) for rank, item in enumerate(base, 1)}
    new = {item.key: (rank, item) for rank, item in enumerate(candidate, 1)}
    changes = [_change(key, old.get(key), new[key]) for key in new]
    changes += [_change(key, old[key], None) for key in old if key not in new]
    return RankComparison(
        changes=changes,
        rbo=round(rank_biased_overlap([item.key for item in base], [item.key for item in candidate]), 4),
        kendall_tau=kendall_tau({k: v[0] for k, v in old.items()}, {k: v[0] for k, v in new.items()}),
    )


def rank_biased_overlap(base: Sequence[str], candidate: Sequence[str]) -> float:
    """Extrapolated RBO of lists of any lengths (Webber et al. 2010, equation 32); 1.0 for two empty lists."""
    short, long = sorted((base, candidate), key=len)
    if not long:
        return 1.0
    if not short:
        return 0.0
    overlap = _overlaps(short, long)
    s, n, p = len(short), len(long), PERSISTENCE
    prefix_sum = sum(overlap[d - 1] / d * p**d for d in range(1, n + 1))
    uneven_sum = sum(overlap[s - 1] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    tail = ((overlap[n - 1] - overlap[s - 1]) / n + overlap[s - 1] / s) * p**n
    return min(1.0, (1 - p) / p * (prefix_sum + uneven_sum) + tail)


def kendall_tau(base: Mapping[str, int], candidate: Mapping[str, int]) -> float | None:
    """Kendall's tau over the documents in both lists; None if they share fewer than two."""
    common = [key for key in base if key in candidate]
    if len(common) < 2:
        return None
    concordance = sum(
        1 if (base[first] < base[second]) == (candidate[first] < candidate[second]) else -1
        for first, second in combinations(common, 2)
    )
    return round(concordance / (len(common) * (len(common) - 1) / 2), 4)


def _ranked_document(item: JSONValue) -> RankedDocument:
    if not isinstance(item, dict):
        return RankedDocument(key=digest(item), title=str(item)[:80], score=None)
    score = item.get("score")
    document_id = item.get("id")
    title = _title(item)
    return RankedDocument(
        key=str(document_id) if document_id not in (None, "") else digest(item.get("content"))[:16],
        title=title,
        score=float(score) if is_number(score) else None,
        text=_text(item.get("content")),
    )


def _text(content: JSONValue) -> str:
    return "" if content is None else text_or_json(content)


def _title(item: dict[str, JSONValue]) -> str:
    candidates = item.get("title"), member(item, "metadata", "title"), item.get("content"), item.get("id")
    for candidate in map(as_string, candidates):
        if candidate.strip():
            return " ".join(candidate.split())[:80]
    return str(item.get("id") or "")


def _change(key: str, old: tuple[int, RankedDocument] | None, new: tuple[int, RankedDocument] | None) -> RankChange:
    document = (new or old or (0, RankedDocument(key=key, title="", score=None)))[1]
    return RankChange(
        document=key,
        title=document.title,
        op=_op(old, new),
        base_rank=old[0] if old else None,
        candidate_rank=new[0] if new else None,
        base_score=old[1].score if old else None,
        candidate_score=new[1].score if new else None,
    )


def _op(old: tuple[int, RankedDocument] | None, new: tuple[int, RankedDocument] | None) -> str:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    if old[0] != new[0]:
        return "moved"
    return "same" if old[1].score == new[1].score else "rescored"


def _overlaps(short: Sequence[str], long: Sequence[str]) -> list[int]:
    """Number of documents that the first d entries of both lists share, for d = 1 … len(long)."""
    prefixes: tuple[set[str], set[str]] = (set(), set())
    overlap, result = 0, []
    for depth, key in enumerate(long):
        prefixes[1].add(key)
        overlap += key in prefixes[0]
        if depth < len(short):
            prefixes[0].add(short[depth])
            overlap += short[depth] in prefixes[1]
        result.append(overlap)
    return result
