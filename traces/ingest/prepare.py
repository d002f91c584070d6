"""Prepare recordings for storage, without the database: rows, parts, provenance and the columns of the run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from traces.core import storable_text
from traces.core.canonical import NotCanonical, canonical_bytes
from traces.core.ids import new_id
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.step_header import evolve, header_of, step_view
from traces.core.vocabulary import Label, StepStatus, StepType
from traces.errors import InvalidRecording
from traces.ingest import step_rows as ingest_rows
from traces.ingest import validate
from traces.ingest.judgement_rows import JudgementRow, row_of, validator_row
from traces.ingest.outcome_rules import validator_kind
from traces.ingest.redaction import redact
from traces.ingest.step_rows import StepRow
from traces.payloads import step_summaries
from traces.payloads.messages import Documents
from traces.payloads.splitter import Splitter
from traces.provenance.edges import Provenance, find_provenance, stated_links
from traces.provenance.step_outputs import StepFacts
from traces.redaction.redactor import Redaction
from traces.signatures.call_signatures import signature

# In steps. The first fork or diff of a longer run would wait too long for its provenance.
LONGEST_PENDING: Final = 500
_COST: Final = Decimal("0.00000001")
Identity = tuple[str, str]  # app, external id


@step_view
class PreparedProvenance:
    """The provenance of a run. If it is pending, it has only the links that the recording states."""

    provenance: Provenance
    is_pending: bool


@step_view
class PreparedRun:
    """A recording as it will be stored: `columns` of the run, and `rows` of its steps.

    `calls` are the answered live tool calls: number, tool and arguments. `judgements` are those of the recording and
    those of its validators; `retractions` are statements that the recording no longer makes. `recording` is what they
    were made from, without its steps.
    """

    recording: RecordedRun

    columns: dict[str, Any]
    rows: Sequence[StepRow]
    calls: Sequence[tuple[int, str, JSONValue]]
    judgements: Sequence[JudgementRow]
    retractions: Sequence[JudgementRow]
    # Cleared when provenance is computed.
    steps: list[RecordedStep]
    splitter: Splitter

    @property
    def run_id(self) -> UUID:
        key: UUID = self.columns["id"]
        return key

    @property
    def identity(self) -> Identity:
        return self.columns["app"], self.columns["external_id"]

    @property
    def content_digest(self) -> str:
        return str(self.columns["content_digest"])

    @property
    def parts(self) -> Mapping[str, bytes]:
        return self.splitter.parts

    def provenance(self) -> PreparedProvenance:
        """Compute provenance, or leave it to the first reader where the stored payloads will do.

        Call once: the payloads are released afterwards, because a long run takes much memory.
        """
        numbers = _numbers(self.steps)
        is_pending = self._is_traceable_later()
        pairs = zip(self.steps, self.rows, strict=True)
        facts = [_facts(step, row, numbers) for step, row in pairs if step.links or not is_pending]
        if is_pending:
            provenance = Provenance(edges=stated_links(facts), unexplained_inputs={})
        else:
            provenance = find_provenance(facts, self.splitter)
        self.steps.clear()
        self.splitter.release()
        return PreparedProvenance(provenance=provenance, is_pending=is_pending)

    def _is_traceable_later(self) -> bool:
        """Return whether the stored payloads give the same provenance as the recorded ones, and soon enough.

        They lack the order of keys, which matters where code wrote the result of a tool into a text.
        """
        has_order = not any(
            step.type is StepType.TOOL and not step.call_id and isinstance(step.output, dict | list)
            for step in self.steps
        )
        return len(self.rows) <= LONGEST_PENDING and self.splitter.has_types and has_order


def prepare(run: RecordedRun, redaction: Redaction) -> PreparedRun:
    """Redact and validate a recording, and build its rows; raise `InvalidRecording` or `TooLarge`."""
    run = redact(run, redaction)
    splitter = Splitter()
    steps = validate.ordered_steps(run)
    step_rows = _rows(run, steps, splitter)
    return PreparedRun(
        recording=evolve(run, steps=()),
        columns=_run_values(run, step_rows),
        rows=step_rows,
        calls=list(_answered_calls(steps, step_rows)),
        judgements=[*_judgements(run.judgements, steps), *_validators(steps, step_rows)],
        retractions=list(_judgements(run.retractions, steps)),
        steps=steps,
        splitter=splitter,
    )


def _numbers(steps: Iterable[RecordedStep]) -> dict[str, int]:
    """Return the sequence numbers of ordered steps, by key."""
    return {step.key: number for number, step in enumerate(steps, 1)}


def _answered_calls(
    steps: Iterable[RecordedStep], step_rows: Iterable[StepRow]
) -> Iterator[tuple[int, str, JSONValue]]:
    for step, row in zip(steps, step_rows, strict=True):
        has_answer = step.type is StepType.TOOL and step.status is StepStatus.OK and step.output is not None
        if has_answer and step.label is Label.LIVE:
            yield row.sequence_no, step.callee, step.input


def _judgements(judgements: Sequence[RecordedJudgement], steps: Iterable[RecordedStep]) -> Iterator[JudgementRow]:
    numbers = _numbers(steps) if judgements else {}
    return (row_of(judgement, numbers) for judgement in judgements)


def _validators(steps: Iterable[RecordedStep], step_rows: Iterable[StepRow]) -> Iterator[JudgementRow]:
    for step, row in zip(steps, step_rows, strict=True):
        if step.type is not StepType.VALIDATOR:
            continue
        if kind := validator_kind(step.status, step.label, step.output, step.reason):
            yield validator_row(row, kind)


def _rows(run: RecordedRun, steps: Sequence[RecordedStep], splitter: Splitter) -> list[StepRow]:
    indices = {step.key: index for index, step in enumerate(run.steps)}
    numbers = _numbers(steps)
    return [_row(indices[step.key], step, numbers, splitter) for step in steps]


def _row(index: int, step: RecordedStep, numbers: dict[str, int], splitter: Splitter) -> StepRow:
    """Build the row of a step; `index` is its position in the recording."""
    duration = (step.ended_at - step.started_at).total_seconds() * 1000 if step.ended_at and step.started_at else None
    summary = step_summaries.summarize(
        type=step.type, name=step.name, tool_name=step.tool_name, input=step.input, output=step.output
    )
    input_ref = _ref(index, step, "input", step.input, splitter)
    return StepRow(
        type=step.type,
        name=step_summaries.one_line(step.name, 300),
        status=step.status,
        provider=step.provider,
        model=step.model,
        tool_name=step.tool_name,
        call_id=step.call_id,
        tokens_in=step.tokens_in,
        tokens_out=step.tokens_out,
        tokens_cached=step.tokens_cached,
        sequence_no=numbers[step.key],
        parent_no=None if step.parent is None else numbers[step.parent],
        external_id=step.key,
        label=step.label,
        reason=step.reason or "",
        started_at=step.started_at,
        duration_ms=duration,
        input_ref=input_ref,
        output_ref=splitter.split(None) if step.null_output else _ref(index, step, "output", step.output, splitter),
        attributes_ref=_ref(index, step, "attributes", step.attributes or None, splitter),
        signature=_signature(step, input_ref, splitter),
        error=step.error.replace("\x00", "\ufffd"),
        summary=summary,
        cost_usd=None if step.cost_usd is None else step.cost_usd.quantize(_COST),
        retries=step.retries,
        document_count=Documents(step.output).count,
    )


def _ref(index: int, step: RecordedStep, field: str, value: JSONValue, splitter: Splitter) -> str:
    if value is None:
        return ""
    try:
        return splitter.split(value)
    except NotCanonical as problem:
        raise validate.payload_error(index, step, field, problem) from problem


def _signature(step: RecordedStep, input_ref: str, splitter: Splitter) -> str:
    return signature(
        type=step.type,
        name=step.name,
        input=step.input,
        provider=step.provider,
        model=step.model,
        tool_name=step.tool_name,
        digest_of=splitter.digest,
        input_ref=input_ref,
    )


def _facts(step: RecordedStep, row: StepRow, numbers: dict[str, int]) -> StepFacts:
    return StepFacts(
        **header_of(step),
        no=row.sequence_no,
        input=step.input,
        output=step.output,
        input_ref=row.input_ref,
        output_ref=row.output_ref,
        links=tuple(numbers[link] for link in step.links),
    )


def _run_values(run: RecordedRun, step_rows: Sequence[StepRow]) -> dict[str, Any]:
    """Build the columns of a recorded run."""
    tags = tuple(tag.replace("\x00", "\ufffd") for tag in run.tags)
    name = step_summaries.one_line(run.name, 300) or run.external_id
    sums = ingest_rows.totals(step_rows)
    first_start, last_end = ingest_rows.time_span(step_rows)
    start, end = run.started_at or first_start, run.ended_at or last_end
    run = evolve(run, name=name, tags=tags, metadata=_metadata(run), started_at=start, ended_at=end)
    content = ingest_rows.run_content(run)
    return {
        "id": new_id(),
        "external_id": run.external_id,
        "name": run.name,
        "app": run.app,
        "environment": run.environment,
        "source": run.source,
        "format": run.format,
        "status": run.status,
        "created_at": datetime.now(UTC),
        "tags": list(run.tags),
        "metadata": run.metadata,
        "started_at": start,
        "ended_at": end,
        "search": step_summaries.search_text(run),
        "content_digest": ingest_rows.content_digest(content, step_rows),
        **ingest_rows.totals_columns(sums, start, end),
    }


def _metadata(run: RecordedRun) -> JSONObject:
    try:
        canonical_bytes(run.metadata)
    except NotCanonical as problem:
        raise InvalidRecording(f"the run's metadata: {problem}", where=f"/metadata{problem.pointer}") from problem
    metadata = storable_text.storable(run.metadata)
    return as_object(metadata)
