"""Portable runs: out of one store, into another, equal on both sides."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO, Any, Final
from uuid import UUID

import orjson
from django.db import IntegrityError, transaction

from traces import notify
from traces.bundles import archive
from traces.bundles.archive import BadBundle, Bundle
from traces.bundles.lines import EdgeLine, JudgementLine, Origin, RunLine, StepLine, parsed
from traces.call_index import tool_calls
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, JudgementKind, RunSource
from traces.errors import NotSealed, RunConflict
from traces.ingest import step_rows as ingest_rows
from traces.ingest.judgement_rows import STATED, JudgementRow
from traces.ingest.step_rows import StepRow
from traces.judgements import services as judgements_services
from traces.models import Judgement, Run, Step
from traces.payloads import missing_parts
from traces.payloads.missing_parts import Readable
from traces.payloads.parts import references
from traces.payloads.splitter import Splitter
from traces.provenance.edge_facts import EdgeFact
from traces.runs import queries, services
from traces.runs.services import Recorded
from traces.signatures.call_signatures import signature
from traces.storage import artifacts as artifact_store
from traces.storage.artifacts import StoredBytes

_REFS: Final = ("input_ref", "output_ref", "attributes_ref")


def export(run: Run, file: IO[bytes]) -> None:
    """Write a bundle of a sealed run; raises `NotSealed`. What is missing or damaged is named in its manifest."""
    if run.sealed_at is None:
        raise NotSealed(f"run {run.id} is still being written: a bundle holds a finished run")
    steps = queries.steps(run.id)
    tables = {
        "run.json": orjson.dumps(_run_line(run)),
        "steps.jsonl": archive.lines(_step_lines(run, steps)),
        "edges.jsonl": archive.lines(_edge_lines(run)),
    }
    if judged := archive.lines(_judgement_lines(run)):
        tables["judgements.jsonl"] = judged
    lost: list[str] = []
    artifacts = _artifacts(steps, lost)
    archive.write(file, content_digest=run.content_digest, tables=tables, artifacts=artifacts, unavailable=lost)


def import_bundle(file: IO[bytes]) -> Recorded:
    """Store the run of a bundle, equal to the exported one; twice gives it once. What it lacks is named.

    Raises `BadBundle`, and `RunConflict` when another run is here under its identity.
    """
    bundle = archive.read(file)
    run = parsed(RunLine, bundle.run, "run.json")
    lines = [parsed(StepLine, value, f"steps.jsonl:{at}") for at, value in enumerate(bundle.steps, 1)]
    edges = [parsed(EdgeLine, value, f"edges.jsonl:{at}") for at, value in enumerate(bundle.edges, 1)]
    _check_order(lines)
    values = _payloads(bundle, lines)
    _check_edges(edges, lines, values)
    judged = _judgement_rows(bundle, lines)
    with transaction.atomic():
        stored = _store(bundle, run, lines, edges, values)
        judgements_services.add({stored.run_id: judged}, new_runs=[stored.run_id] if stored.created else [])
    return replace(stored, lost=tuple(sorted(values.lost_digests - artifact_store.present(values.lost_digests))))


def _store(
    bundle: Bundle,
    run: RunLine,
    lines: Sequence[StepLine],
    edges: Sequence[EdgeLine],
    values: Readable,
) -> Recorded:
    origin = _origin(run)
    step_rows = _step_rows(lines, origin, values)
    content_digest = ingest_rows.content_digest(ingest_rows.said_of_run(run), step_rows)
    if content_digest != bundle.content_digest:
        raise BadBundle("the run does not hash to what the manifest says: the bundle is damaged", where="manifest.json")
    known = Run.objects.filter(app=run.app, external_id=run.external_id).first()
    if known is not None:
        return _known(known, content_digest)
    try:
        with transaction.atomic():
            stored = Run.objects.create(**_columns(run, step_rows), source_run=origin, content_digest=content_digest)
    except IntegrityError:  # another writer was quicker
        return _known(Run.objects.get(app=run.app, external_id=run.external_id), content_digest)
    artifact_store.write_many(bundle.artifacts)  # after the run, as every writer does: they never wait in a circle
    services.insert_steps(stored.id, step_rows)
    services.insert_edges(stored.id, (EdgeFact(**dict(edge)) for edge in edges))
    services.insert_tags(stored.id, run.tags)
    judgements_services.begin({stored.id: RunSource.BUNDLE})
    tool_calls.insert_run(stored)
    Run.objects.filter(id=stored.id).update(sealed_at=datetime.now(UTC))
    notify.touch("runs")
    return Recorded(run_id=stored.id, created=True)


def _known(run: Run, content_digest: str) -> Recorded:
    if run.content_digest != content_digest:
        raise RunConflict(
            app=run.app,
            external_id=run.external_id,
            run_id=run.id,
            stored_digest=run.content_digest,
            new_digest=content_digest,
        )
    return Recorded(run_id=run.id, created=False)


def _run_line(run: Run) -> JSONObject:
    origin = Run.objects.filter(id=run.source_run_id).first() if run.source_run_id else None
    line = RunLine.model_construct(
        **{name: getattr(run, name) for name in RunLine.model_fields if name != "derived_from"},
        derived_from=None
        if origin is None
        else Origin(app=origin.app, external_id=origin.external_id, content_digest=origin.content_digest),
    )
    return line.model_dump(mode="json", warnings=False)


def _step_lines(run: Run, steps: Sequence[Step]) -> Iterator[JSONObject]:
    numbers = (
        dict(Step.objects.filter(run_id=run.source_run_id).values_list("id", "sequence_no"))
        if run.source_run_id
        else {}
    )
    names = [name for name in StepLine.model_fields if name != "source_no"]
    for step in steps:
        values = {name: getattr(step, name) for name in names}
        source_no = numbers.get(step.source_step) if step.source_step else None
        line = StepLine.model_construct(**values, source_no=source_no)
        yield line.model_dump(mode="json", warnings=False)


def _edge_lines(run: Run) -> Iterator[JSONObject]:
    for edge in queries.edges(run.id):
        yield {
            "producer": edge.producer_no,
            "consumer": edge.consumer_no,
            "kind": edge.kind,
            "consumer_path": edge.consumer_path,
            "producer_path": edge.producer_path,
            "evidence": edge.evidence,
        }


def _judgement_lines(run: Run) -> Iterator[JSONObject]:
    """In an order that depends on nothing but the judgements: equal runs give equal files."""
    stated = Judgement.objects.filter(run=run, withdrawn_at__isnull=True).order_by("key").values_list(*STATED)
    for row in stated:
        line = JudgementLine.model_construct(**dict(zip(STATED, row, strict=True)))
        yield line.model_dump(mode="json", warnings=False)


def _judgement_rows(bundle: Bundle, steps: Sequence[StepLine]) -> list[JudgementRow]:
    """The judgements of a bundle; raises `BadBundle` for one of a step that is not there."""
    found = []
    for at, value in enumerate(bundle.judgements, 1):
        where = f"judgements.jsonl:{at}"
        line = parsed(JudgementLine, value, where)
        if line.step_no is not None and line.step_no > len(steps):
            raise BadBundle(f"judgement {at} is of step {line.step_no}, which is not there", where=f"{where}#/step_no")
        if (line.value is None) is (line.kind is JudgementKind.SCORE):
            raise BadBundle(f"judgement {at}: a score has a number, and nothing else has", where=f"{where}#/value")
        found.append(JudgementRow(**dict(line)))
    return found


def _artifacts(steps: Sequence[Step], lost: list[str]) -> Iterator[tuple[str, bytes]]:
    """Every artifact that the steps need, by name, level by level; those that cannot be read go to `lost`."""
    seen: set[str] = set()
    wanted = _all_refs(steps)
    while wanted:
        seen |= wanted
        inner: set[str] = set()
        verified = artifact_store.verify(sorted(wanted))
        found = {one.sha256: one.data for one in verified if isinstance(one, StoredBytes)}
        lost += sorted(wanted - found.keys())
        for sha256 in sorted(found):
            yield sha256, found[sha256]
            inner.update(references(orjson.loads(found[sha256])))
        wanted = inner - seen


def _all_refs(steps: Sequence[Any]) -> set[str]:
    return {ref for step in steps for name in _REFS if (ref := getattr(step, name))}


def _check_order(lines: Sequence[StepLine]) -> None:
    """Steps are numbered from 1, and parents come first."""
    for number, line in enumerate(lines, 1):
        if line.sequence_no != number:
            raise BadBundle(f"step {number} says that it is number {line.sequence_no}", where=f"steps.jsonl:{number}")
        if line.parent_no is not None and line.parent_no >= number:
            raise BadBundle(f"step {number} comes before its parent", where=f"steps.jsonl:{number}")


def _check_edges(edges: Iterable[EdgeLine], lines: Sequence[StepLine], values: Readable) -> None:
    """Producers come first, no edge is there twice, and a history ends at a message of the request."""
    seen: set[tuple[object, ...]] = set()
    for at, edge in enumerate(edges, 1):
        identity = (edge.producer, edge.consumer, edge.kind, edge.consumer_path)
        if not edge.producer < edge.consumer <= len(lines):
            raise BadBundle(f"edge {at} goes from {edge.producer} to {edge.consumer}", where=f"edges.jsonl:{at}")
        if identity in seen:
            raise BadBundle(f"edge {at} is there twice", where=f"edges.jsonl:{at}")
        seen.add(identity)
        ref = lines[edge.consumer - 1].input_ref
        if ref in values.lost_digests or edge.kind is not EdgeKind.HISTORY:
            continue
        if not _is_message(edge.consumer_path, values.values.get(ref)):
            detail = f"edge {at}: step {edge.consumer} has no message {edge.consumer_path!r}"
            raise BadBundle(detail, where=f"edges.jsonl:{at}#/consumer_path")


def _is_message(path: str, request: JSONValue) -> bool:
    messages = request.get("messages") if isinstance(request, dict) else None
    place = path.removeprefix("/messages/")
    return isinstance(messages, list) and place != path and place.isdecimal() and int(place) < len(messages)


def _payloads(bundle: Bundle, lines: Sequence[StepLine]) -> Readable:
    """The payloads of the steps; raises `BadBundle` for a part that the bundle lacks and does not name as lost."""

    def load(digests: Iterable[str]) -> dict[str, JSONValue]:
        return {digest: orjson.loads(bundle.artifacts[digest]) for digest in digests if digest in bundle.artifacts}

    found = missing_parts.readable(_all_refs(lines), load)
    if missing := sorted(found.lost_digests - bundle.unavailable):
        raise BadBundle(f"the bundle lacks artifact {missing[0]}", where=f"artifacts/{missing[0]}")
    return found


def _origin(run: RunLine) -> Run | None:
    """The run that it was derived from, when that is here."""
    said = run.derived_from
    if said is None:
        return None
    return Run.objects.filter(
        app=said.app, external_id=said.external_id, content_digest=said.content_digest, sealed_at__isnull=False
    ).first()


def _step_rows(lines: Sequence[StepLine], origin: Run | None, values: Readable) -> list[StepRow]:
    """The rows of the steps. Signatures are worked out anew: a bundle could claim the answer of any call.

    A call whose input cannot be read has none.
    """
    sources: dict[int, UUID] = {}
    if origin is not None:
        sources = dict(Step.objects.filter(run=origin).values_list("sequence_no", "id"))
    splitter = Splitter()
    return [
        StepRow(
            **{name: value for name, value in line if name not in {"source_no", "unexplained"}},
            unexplained=None if line.unexplained is None else [dict(item) for item in line.unexplained],
            signature=""
            if values.lacks(line.input_ref)
            else _signature(line, values.values.get(line.input_ref), splitter),
            source_step=sources.get(line.source_no) if line.source_no else None,
        )
        for line in lines
    ]


def _signature(line: StepLine, input: JSONValue, splitter: Splitter) -> str:
    return signature(
        type=line.type,
        name=line.name,
        input=input,
        provider=line.provider,
        model=line.model,
        tool_name=line.tool_name,
        digest_of=splitter.digest,
    )


def _columns(run: RunLine, step_rows: Sequence[StepRow]) -> dict[str, Any]:
    columns = {name: value for name, value in run if name != "derived_from"}
    sums = ingest_rows.totals_columns(ingest_rows.totals(step_rows), run.started_at, run.ended_at)
    return columns | sums | {"source": RunSource.BUNDLE}
