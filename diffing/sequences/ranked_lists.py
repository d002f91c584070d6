"""Comparison of two ranked lists of retrieved documents."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, NamedTuple

from diffing.schemas.report import RankChange, RankComparison
from traces.core.canonical import digest
from traces.core.json_types import JSONValue

PERSISTENCE: Final = 0.9  # weight of depth in rank-biased overlap: the first ten ranks carry 86 %
_COMPARED: Final = 1_000  # documents of one list


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """A document at its place; `key` identifies it in both lists."""

    key: str
    title: str
    score: float | None
    text: str = ""


class Rewritten(NamedTuple):
    """A document that both lists have, with other words."""

    title: str
    base: str
    candidate: str


def rewritten(base: JSONValue, candidate: JSONValue) -> list[Rewritten]:
    """The documents of both lists whose text differs, in the base's order."""
    new = {item.key: item for item in ranked(candidate)}
    pairs = [(item, new[item.key]) for item in ranked(base) if item.key in new]
    return [Rewritten(after.title, before.text, after.text) for before, after in pairs if before.text != after.text]


def ranked(documents: JSONValue) -> list[Ranked]:
    """The documents of a retrieval's output, known by id, else by content; a repeat is counted."""
    listed = documents if isinstance(documents, list) else []
    seen: dict[str, int] = {}
    result = []
    for item in listed[:_COMPARED]:
        one = _ranked(item)
        seen[one.key] = seen.get(one.key, 0) + 1
        again = f"{one.key} ({seen[one.key]})" if seen[one.key] > 1 else one.key
        result.append(replace(one, key=again))
    return result


def compare(base: Sequence[Ranked], candidate: Sequence[Ranked]) -> RankComparison:
    """Every document of both lists with its move, best candidate rank first, removed ones last."""
    old = {item.key: (rank, item) for rank, item in enumerate(base, 1)}
    new = {item.key: (rank, item) for rank, item in enumerate(candidate, 1)}
    changes = [_change(key, old.get(key), new[key]) for key in new]
    changes += [_change(key, old[key], None) for key in old if key not in new]
    return RankComparison(
        changes=changes,
        rbo=round(rank_biased_overlap([item.key for item in base], [item.key for item in candidate]), 4),
        kendall_tau=kendall_tau({k: v[0] for k, v in old.items()}, {k: v[0] for k, v in new.items()}),
    )


def rank_biased_overlap(base: Sequence[str], candidate: Sequence[str], p: float = PERSISTENCE) -> float:
    """Extrapolated RBO (Webber et al. 2010, equation 32), also of lists of uneven length; 1.0 for two empty ones."""
    short, long = sorted((base, candidate), key=len)
    if not long:
        return 1.0
    if not short:
        return 0.0
    overlap = _overlaps(short, long)
    s, n = len(short), len(long)
    agreed = sum(overlap[d - 1] / d * p**d for d in range(1, n + 1))
    beyond = sum(overlap[s - 1] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    tail = ((overlap[n - 1] - overlap[s - 1]) / n + overlap[s - 1] / s) * p**n
    return min(1.0, (1 - p) / p * (agreed + beyond) + tail)


def kendall_tau(base: Mapping[str, int], candidate: Mapping[str, int]) -> float | None:
    """Tau over the documents in both lists; None under two of them."""
    shared = [key for key in base if key in candidate]
    if len(shared) < 2:
        return None
    agreeing = sum(
        1 if (base[one] < base[other]) == (candidate[one] < candidate[other]) else -1
        for one, other in combinations(shared, 2)
    )
    return round(agreeing / (len(shared) * (len(shared) - 1) / 2), 4)


def _ranked(item: JSONValue) -> Ranked:
    if not isinstance(item, dict):
        return Ranked(key=digest(item), title=str(item)[:80], score=None)
    score = item.get("score")
    known = item.get("id")
    title = _title(item)
    return Ranked(
        key=str(known) if known not in (None, "") else digest(item.get("content"))[:16],
        title=title,
        score=float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None,
        text=_text(item.get("content")),
    )


def _text(content: JSONValue) -> str:
    return content if isinstance(content, str) else "" if content is None else json.dumps(content, ensure_ascii=False)


def _title(item: dict[str, JSONValue]) -> str:
    metadata = item.get("metadata")
    named = metadata.get("title") if isinstance(metadata, dict) else None
    for candidate in (item.get("title"), named, item.get("content"), item.get("id")):
        if isinstance(candidate, str) and candidate.strip():
            return " ".join(candidate.split())[:80]
    return str(item.get("id") or "")


def _change(key: str, old: tuple[int, Ranked] | None, new: tuple[int, Ranked] | None) -> RankChange:
    shown = (new or old or (0, Ranked(key=key, title="", score=None)))[1]
    return RankChange(
        document=key,
        title=shown.title,
        op=_op(old, new),
        base_rank=old[0] if old else None,
        candidate_rank=new[0] if new else None,
        base_score=old[1].score if old else None,
        candidate_score=new[1].score if new else None,
    )


def _op(old: tuple[int, Ranked] | None, new: tuple[int, Ranked] | None) -> str:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    if old[0] != new[0]:
        return "moved"
    return "same" if old[1].score == new[1].score else "rescored"


def _overlaps(short: Sequence[str], long: Sequence[str]) -> list[int]:
    """How many documents the first d of both lists share, for d = 1 … len(long)."""
    seen: tuple[set[str], set[str]] = (set(), set())
    shared, result = 0, []
    for depth, key in enumerate(long):
        seen[1].add(key)
        shared += key in seen[0]
        if depth < len(short):
            seen[0].add(short[depth])
            shared += short[depth] in seen[1]
        result.append(shared)
    return result
