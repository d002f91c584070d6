"""Track E: accuracy of the aligner on edit scripts with a known map, and speed of aligner and diff."""

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
    """One transcript, its edits, and the aligner's matches compared with the true map."""

    source: str
    edits: list[str]
    steps: int
    right: int
    matches: int
    true_matches: int

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.matches + self.true_matches)


def row(source: str, messages: Sequence[JSONObject], seed: str, kinds: Sequence[str] = ()) -> EditRow:
    rng = random.Random(seed)
    edits = kinds or rng.choices(KINDS, k=rng.randint(1, MOST_EDITS))
    script = editing.apply_edits(messages, edits, rng)
    base = transcripts.import_messages(list(messages))
    candidate = transcripts.import_messages([message for _, message in script.messages])
    true_matches = editing.truth(base, candidate, script)
    matches = align(transcripts.side(base).steps, transcripts.side(candidate).steps)
    return EditRow(
        source=source,
        edits=script.applied_edits,
        steps=len(base.steps),
        matches=len(matches),
        true_matches=len(true_matches),
        right=sum(true_matches.get(match.base) == match.candidate for match in matches),
    )


def generated_rows(count: int) -> list[EditRow]:
    return [row("generated", transcripts.generate(number), f"e {number}") for number in range(count)]


def real_rows(folder: Path, count: int) -> list[EditRow]:
    """Edit and align transcripts of the data folder, the same number from both files."""
    results = []
    for name in (transcripts.MULTI, transcripts.REPEATS):
        conversations = [transcripts.messages_of(recording) for recording in transcripts.rows(folder, name)]
        sample = random.Random(f"e {name}").sample(conversations, min(count, len(conversations)))
        for number, messages in enumerate(sample):
            results.append(row(name.partition(".")[0], messages, f"{name} {number}"))
    return results


def summary(rows: Sequence[EditRow]) -> JSONObject:
    return {
        "cases": len(rows),
        "f1": _f1(rows),
        "worst": min((row.f1 for row in rows), default=None),
        "by_source": _f1_by((row.source, row) for row in rows),
        "by_edit": _f1_by((edit, row) for row in rows for edit in set(row.edits)),
    }


def _f1_by(named_rows: Iterable[tuple[str, EditRow]]) -> JSONObject:
    groups: dict[str, list[EditRow]] = {}
    for name, row in sorted(named_rows, key=lambda pair: pair[0]):
        groups.setdefault(name, []).append(row)
    return {name: _f1(group) for name, group in groups.items()}


def _f1(rows: Sequence[EditRow]) -> float | None:
    return scoring.mean(row.f1 for row in rows)


def speed() -> dict[str, float]:
    """Return milliseconds of processor time, the best of three runs."""
    rng = random.Random("speed")
    messages: list[JSONObject] = []
    while len(messages) < 1000:
        messages += transcripts.generate(rng.randrange(10**6))
    script = editing.apply_edits(messages, [*rng.choices(KINDS[:4], k=40), "rename ids"], rng)
    base = transcripts.side(transcripts.import_messages(messages)).steps[:1000]
    candidate = transcripts.side(transcripts.import_messages([message for _, message in script.messages])).steps[:1000]
    words = [rng.choice(("lamp", "order", "parcel", "refund", "today", "please", "north")) for _ in range(20_000)]
    edited_words = [word if rng.random() > 0.05 else "changed" for word in words]
    return {
        "align_1000_ms": _best(lambda: align(base, candidate)),
        "text_20k_ms": _best(lambda: word_diff(" ".join(words), " ".join(edited_words))),
    }


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(1000 * (time.process_time() - began))
    return min(times)


def repeat_pairs(folder: Path, count: int) -> JSONObject:
    """Count how often, and how confidently, the diff claims a cause for repeats of one configuration."""
    by_task = scoring.group_by(transcripts.rows(folder, transcripts.REPEATS), pairs.task)
    couples = [couple for group in by_task.values() for couple in combinations(group, 2)]
    sample = random.Random("repeated").sample(couples, min(count, len(couples)))
    attributions = [pairs.compare_transcripts(*couple).attribution for couple in sample]
    claims = [
        attribution
        for attribution in attributions
        if attribution.verdict == "cause" and attribution.confidence in {"medium", "high"}
    ]
    verdicts = [attribution.verdict for attribution in attributions]
    return {
        "pairs": len(attributions),
        "above_low": len(claims),
        "wilson": list(scoring.wilson(len(claims), len(attributions))),
        "verdicts": {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))},
    }


def as_json(row: EditRow) -> JSONObject:
    return {**asdict(row), "f1": row.f1}
