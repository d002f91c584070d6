"""Track E: the aligner and the diff, on edit scripts with a known map, and how fast they are."""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

from diffing.compare.alignment import align
from diffing.sequences.text_diff import word_diff
from tests.bench.attribution import editing, pairs, scoring, transcripts
from traces.core.json_types import JSONObject

KINDS: Final = tuple(editing.EDITS)
MOST_EDITS: Final = 6


@dataclass(frozen=True, kw_only=True)
class EditRow:
    """One transcript, its edits, and how much of the known map was found again."""

    source: str
    edits: list[str]
    steps: int
    right: int
    found: int
    known: int

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.found + self.known)


def row(source: str, messages: Sequence[JSONObject], seed: str, kinds: Sequence[str] = ()) -> EditRow:
    rng = random.Random(seed)
    chosen = kinds or rng.choices(KINDS, k=rng.randint(1, MOST_EDITS))
    script = editing.edited(messages, chosen, rng)
    base = transcripts.recorded(list(messages))
    candidate = transcripts.recorded([message for _, message in script.messages])
    known = editing.truth(base, candidate, script)
    found = align(transcripts.side(base).steps, transcripts.side(candidate).steps)
    return EditRow(
        source=source,
        edits=script.done,
        steps=len(base.steps),
        found=len(found),
        known=len(known),
        right=sum(known.get(match.base) == match.candidate for match in found),
    )


def generated(count: int) -> list[EditRow]:
    return [row("generated", transcripts.generated(number), f"e {number}") for number in range(count)]


def real(folder: Path, count: int) -> list[EditRow]:
    """Transcripts of the data folder, taken evenly from both files, each with several edits and with each alone."""
    found = []
    for name in (transcripts.MULTI, transcripts.REPEATS):
        given = [transcripts.messages_of(each) for each in transcripts.rows(folder, name)]
        chosen = random.Random(f"e {name}").sample(given, min(count, len(given)))
        for number, messages in enumerate(chosen):
            found.append(row(name.partition(".")[0], messages, f"{name} {number}"))
    return found


def summary(rows: Sequence[EditRow]) -> JSONObject:
    return {
        "cases": len(rows),
        "f1": _f1(rows),
        "worst": min((each.f1 for each in rows), default=None),
        "by_source": _by((each.source, each) for each in rows),
        "by_edit": _by((edit, each) for each in rows for edit in set(each.edits)),
    }


def _by(named: Iterable[tuple[str, EditRow]]) -> JSONObject:
    found: dict[str, list[EditRow]] = {}
    for name, each in sorted(named, key=lambda pair: pair[0]):
        found.setdefault(name, []).append(each)
    return {name: _f1(of) for name, of in found.items()}


def _f1(rows: Sequence[EditRow]) -> float | None:
    return scoring.mean(each.f1 for each in rows)


def speed() -> dict[str, float]:
    """Milliseconds of processor time, the best of three."""
    rng = random.Random("speed")
    messages: list[JSONObject] = []
    while len(messages) < 1000:
        messages += transcripts.generated(rng.randrange(10**6))
    script = editing.edited(messages, [*rng.choices(KINDS[:4], k=40), "rename ids"], rng)
    base = transcripts.side(transcripts.recorded(messages)).steps[:1000]
    candidate = transcripts.side(transcripts.recorded([given for _, given in script.messages])).steps[:1000]
    words = [rng.choice(("lamp", "order", "parcel", "refund", "today", "please", "north")) for _ in range(20_000)]
    other = [word if rng.random() > 0.05 else "changed" for word in words]
    return {
        "align_1000_ms": _best(lambda: align(base, candidate)),
        "text_20k_ms": _best(lambda: word_diff(" ".join(words), " ".join(other))),
    }


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(1000 * (time.process_time() - began))
    return min(times)


def repeated(folder: Path, count: int) -> JSONObject:
    """Pairs of recordings of one task under one configuration: how often the diff claims a cause, and how surely."""
    by_task = scoring.by(transcripts.rows(folder, transcripts.REPEATS), pairs.task)
    couples = [couple for of in by_task.values() for couple in combinations(of, 2)]
    chosen = random.Random("repeated").sample(couples, min(count, len(couples)))
    said = [pairs.compared(*couple).attribution for couple in chosen]
    claimed = [each for each in said if each.verdict == "cause" and each.confidence in {"medium", "high"}]
    verdicts = [each.verdict for each in said]
    return {
        "pairs": len(said),
        "above_low": len(claimed),
        "wilson": list(scoring.wilson(len(claimed), len(said))),
        "verdicts": {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))},
    }


def as_json(row: EditRow) -> JSONObject:
    return {**asdict(row), "f1": row.f1}
