"""Judgements as rows, before they are stored. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final

from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement
from traces.core.vocabulary import JudgementKind, JudgementSource

NAME_LENGTH: Final = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgementRow:
    """The columns of one judgement; `step_no` is None for a judgement of the whole run."""

    name: str
    kind: JudgementKind
    source: JudgementSource
    step_no: int | None = None
    value: float | None = None
    text: str = ""
    by: str = ""
    at: datetime | None = None
    detail: JSONObject | None = None

    @property
    def key(self) -> str:
        """Digest of the statement."""
        time = None if self.at is None else self.at.astimezone(UTC).isoformat()
        value = None if self.value is None else repr(float(self.value))
        statement: list[JSONValue] = [self.name, str(self.kind), str(self.source), self.step_no, value, self.text]
        # Most judgements have no detail, and keep their key without it.
        return digest([*statement, self.by, time, *([self.detail] if self.detail else [])])


STATEMENT_COLUMNS: Final = tuple(column.name for column in fields(JudgementRow))


def row_of(judgement: RecordedJudgement, numbers: Mapping[str, int]) -> JudgementRow:
    """Convert a recorded judgement to a row; `numbers` maps the keys of its run's steps to sequence numbers."""
    return JudgementRow(
        name=judgement.name,
        kind=judgement.kind,
        source=judgement.source,
        step_no=None if judgement.step is None else numbers[judgement.step],
        value=judgement.value,
        text=judgement.text,
        by=judgement.by,
        at=judgement.at,
        detail=judgement.detail or None,
    )


def validator_row(step: Any, kind: JudgementKind) -> JudgementRow:
    """Convert the verdict of a validator step to a judgement of its run."""
    text = step.error if kind is JudgementKind.FAIL else ""
    return JudgementRow(
        name=step.name[:NAME_LENGTH], kind=kind, source=JudgementSource.VALIDATOR, step_no=step.sequence_no, text=text
    )
