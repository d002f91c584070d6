"""Load runs through the tables of the product: the rows that recording them would write, without parsing anything.

Only the uses of shared artifacts are left out, which nothing but a deletion reads.
"""

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from tests.bench.scale.step_templates import Template, Templates
from tests.bench.scale.vocabulary import APPS, ENVIRONMENTS, TAGS, Language
from traces.core.ids import new_id
from traces.core.vocabulary import JudgementKind, JudgementSource, Label, Outcome, RunSource, RunStatus, StepType
from traces.ingest.judgement_rows import STATEMENT_COLUMNS, JudgementRow
from traces.ingest.step_rows import COLUMNS
from traces.models import Judgement, Run, RunOutcome, RunTag, Step
from traces.runs.services import seal_recorded
from traces.storage import artifacts, bulk

_BATCH: Final = 200
_DAYS: Final = 90
_STEP: Final = {name: COLUMNS.index(name) for name in COLUMNS}
_STATEMENT: Final = tuple(STATEMENT_COLUMNS)
_OUTCOMES: Final = {RunStatus.COMPLETED: Outcome.PASSED, RunStatus.FAILED: Outcome.FAILED}


class Loader:
    """Writes `runs` runs of `steps` steps each, spread over 90 days."""

    def __init__(self, *, runs: int, steps: int, seed: int = 7) -> None:
        self._language = Language(seed)
        self._random = self._language.random
        self._templates = Templates(self._language)
        self._runs, self._steps = runs, steps
        self._first = datetime.now(UTC) - timedelta(days=_DAYS)
        self._source: UUID | None = None

    def load(self) -> None:
        artifacts.write_many({new_id(): self._templates.parts})
        self._templates.parts.clear()
        start = time.monotonic()
        for first in range(0, self._runs, _BATCH):
            self._load_batch(range(first, min(first + _BATCH, self._runs)))
            if first % (50 * _BATCH) == 0:
                print(f"{first} runs loaded, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")

    def _load_batch(self, numbers: range) -> None:
        runs, steps, tags, outcomes = [], [], [], []
        judgements: list[tuple[Any, ...]] = []
        for number in numbers:
            run, templates = self._run(number)
            runs.append(run)
            steps.append(self._rows(run, templates))
            tags += [(run["id"], tag) for tag in run["tags"]]
            judgements += self._judgements(run)
            outcome = _OUTCOMES.get(run["status"], Outcome.UNKNOWN)
            outcomes.append((run["id"], outcome, "", ""))
        parts = self._templates.parts
        with transaction.atomic():
            bulk.insert(Run, tuple(runs[0]), (tuple(run.values()) for run in runs))
            artifacts.write_many({runs[0]["id"]: parts})
            bulk.insert(Step, ("run", *COLUMNS), (row for rows in steps for row in rows))
            bulk.insert(RunTag, ("run", "tag"), tags)
            bulk.insert(Judgement, ("id", "run", "key", "created_at", *_STATEMENT), judgements)
            bulk.insert(RunOutcome, ("run", "outcome", "basis", "reason"), outcomes)
            seal_recorded(run["id"] for run in runs)
        parts.clear()

    def _run(self, number: int) -> tuple[dict[str, Any], list[Template]]:
        language, pick = self._language, self._random
        created_at = self._first + timedelta(days=_DAYS) * (number / self._runs)
        id = self._id(created_at)
        reference = f"ref{number:07d}"
        task = f"{reference} {language.text(10, 40)}"
        templates = [self._templates.agent(task), *self._calls()]
        status = pick.choices((RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.PARTIAL), (87, 10, 3))[0]
        app, environment = language.pick(APPS), language.pick(ENVIRONMENTS)
        is_replay = self._source is not None and number % 20 == 0
        tags = sorted(set(pick.choices(TAGS, k=pick.randint(0, 3))))
        duration = pick.uniform(2, 600)
        name = f"{language.text(2, 4)} {number}"
        columns = {
            "id": id,
            "external_id": id.hex,
            "revision": 1,
            "supersedes": None,
            "content_digest": "",
            "name": name,
            "app": app,
            "environment": environment,
            "source": RunSource.REPLAY if is_replay else pick.choices((RunSource.LIVE, RunSource.IMPORT), (9, 1))[0],
            "format": "otlp",
            "status": status,
            "created_at": created_at,
            "started_at": created_at,
            "ended_at": created_at + timedelta(seconds=duration),
            "tags": tags,
            "metadata": {"user": f"user-{pick.randint(1, 5_000)}"},
            "search": f"{name} {id.hex} {app} {environment} {' '.join(tags)} {task}".lower()[:600],
            "step_count": len(templates),
            "error_count": sum(template.is_error for template in templates),
            "tokens_in": sum(template.tokens_in for template in templates),
            "tokens_out": sum(template.tokens_out for template in templates),
            "cost_usd": sum((template.cost for template in templates), Decimal(0)).quantize(Decimal("0.00000001")),
            "duration_ms": duration * 1_000,
            "exact_count": len(templates) // 2 if is_replay else 0,
            "cached_count": 0,
            "simulated_count": 0,
            "source_run": self._source if is_replay else None,
        }
        self._source = self._source if is_replay else id
        return columns, templates

    def _calls(self) -> list[Template]:
        """Return model and tool calls in turns: an agent loop."""
        half = self._steps // 2
        models = self._random.choices(self._templates.models, k=half)
        tools = self._random.choices(self._templates.tools, k=half)
        return [call for pair in zip(models, tools, strict=True) for call in pair][: self._steps - 1]

    def _rows(self, run: dict[str, Any], templates: list[Template]) -> Iterator[tuple[Any, ...]]:
        time = run["started_at"]
        milliseconds = run["duration_ms"] / len(templates)
        for number, template in enumerate(templates, 1):
            row = list(template.columns)
            row[_STEP["id"]] = self._id(time)
            row[_STEP["sequence_no"]] = number
            row[_STEP["parent_no"]] = None if template.type is StepType.AGENT else 1
            row[_STEP["external_id"]] = f"{self._random.getrandbits(64):016x}"
            row[_STEP["started_at"]] = time + timedelta(milliseconds=milliseconds * number)
            if number <= run["exact_count"]:
                row[_STEP["label"]] = Label.EXACT
            yield (run["id"], *row)

    def _judgements(self, run: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        if self._random.random() < 0.3:
            row = JudgementRow(
                name="quality",
                kind=JudgementKind.SCORE,
                source=JudgementSource.IMPORT,
                value=round(self._random.random(), 3),
            )
            yield (
                self._id(run["created_at"]),
                run["id"],
                row.key,
                run["created_at"],
                *(getattr(row, name) for name in _STATEMENT),
            )

    def _id(self, time: datetime) -> UUID:
        """Return a UUIDv7 of a given time."""
        milliseconds = int(time.timestamp() * 1_000)
        random_bits = self._random.getrandbits(74)
        return UUID(
            int=milliseconds << 80 | 7 << 76 | (random_bits >> 62) << 64 | 2 << 62 | random_bits & (1 << 62) - 1
        )
