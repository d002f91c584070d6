"""Portable runs: export a run as a bundle and import it into another store unchanged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import IO, Any, Final
from uuid import UUID

import orjson
from django.db import IntegrityError, transaction

from traces.bundles import archive, expansion
from traces.bundles.archive import BadBundle, Bundle
from traces.bundles.lines import CaptionLine, EdgeLine, JudgementLine, Origin, RunLine, StepLine, parse_line
from traces.call_index import tool_calls
from traces.captions import services as captions
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, JudgementKind, RunSource
from traces.errors import NotSealed
from traces.imports import bundle_redaction
from traces.imports.bundle_redaction import BundleContent
from traces.imports.run_digests import content_digest
from traces.ingest import step_rows as ingest_rows
from traces.ingest.judgement_rows import STATEMENT_COLUMNS, JudgementRow
from traces.ingest.prepare import Identity
from traces.ingest.step_rows import StepRow
from traces.judgements import services as judgements_services
from traces.models import Judgement, Run, RunCaption, Step
from traces.origins import stored_provenance
from traces.payloads import missing_parts
from traces.payloads.messages import ModelRequest
from traces.payloads.missing_parts import Readable
from traces.payloads.parts import references
from traces.payloads.splitter import Splitter
from traces.provenance.edge_facts import EdgeFact
from traces.redaction_policies import services as policies
from traces.runs import queries, revisions, services
from traces.runs.deleted_runs import lock, visible_runs
from traces.runs.revisions import StoredRevision
from traces.runs.services import RecordResult
from traces.signatures.call_signatures import signature
from traces.storage import artifacts as artifact_store
from traces.storage.artifacts import StoredBytes

# Fields of a run's line that are not columns of the run.
_REFERENCES: Final = frozenset({"derived_from", "caption"})
_REFS: Final = ("input_ref", "output_ref", "attributes_ref")


def export(run: Run, file: IO[bytes]) -> None:
    """Write a bundle of a sealed run; its manifest lists missing and damaged artifacts. Raise `NotSealed`."""
    if run.sealed_at is None:
        raise NotSealed(f"run {run.id} is still being written: it can be exported once it has ended")
    stored_provenance.ensure(run.id)
    steps = queries.steps(run.id)
    tables = {
        "run.json": orjson.dumps(_run_line(run)),
        "steps.jsonl": archive.to_lines(_step_lines(run, steps)),
        "edges.jsonl": archive.to_lines(_edge_lines(run)),
    }
    if judgements := archive.to_lines(_judgement_lines(run)):
        tables["judgements.jsonl"] = judgements
    lost_digests: list[str] = []
    artifacts = _artifacts(steps, lost_digests)
    archive.write(
        file, content_digest=content_digest(run), tables=tables, artifacts=artifacts, unavailable=lost_digests
    )


def import_bundle(file: IO[bytes]) -> RecordResult:
    """Store the run of a bundle, equal to the exported one, unless it is stored already.

    The result lists missing artifacts. A run that continues a stored one becomes its next revision. Raise `BadBundle`.
    """
    bundle = archive.read(file)
    run = parse_line(RunLine, bundle.run, "run.json")
    lines = [parse_line(StepLine, value, f"steps.jsonl:{number}") for number, value in enumerate(bundle.steps, 1)]
    edges = [parse_line(EdgeLine, value, f"edges.jsonl:{number}") for number, value in enumerate(bundle.edges, 1)]
    _check_order(lines)
    values = _payloads(bundle, lines)
    _check_edges(edges, lines, values)
    _check_digest(bundle, run, lines)
    content = bundle_redaction.redact(
        BundleContent(
            run=run,
            steps=lines,
            edges=edges,
            judgements=_judgement_lines_of(bundle, lines),
            values=values,
            parts=bundle.artifacts,
        ),
        policies.redaction_of(run.app),
    )
    judgements = [JudgementRow(**dict(line)) for line in content.judgements]
    with transaction.atomic():
        result = _store(content)
        judgements_services.add({result.run_id: judgements}, new_runs=[result.run_id] if result.is_new else [])
    lost_digests = values.lost_digests - artifact_store.present(values.lost_digests)
    return replace(result, lost_digests=tuple(sorted(lost_digests)))


def _check_digest(bundle: Bundle, run: RunLine, lines: Sequence[StepLine]) -> None:
    # Without payloads, because signatures take time and are not part of the digest.
    rows = _step_rows(lines, None, Readable(values={}))
    if ingest_rows.content_digest(ingest_rows.run_content(run), rows) != bundle.content_digest:
        detail = "the run does not match the digest in the manifest: the bundle is damaged"
        raise BadBundle(detail, where="manifest.json")


def _store(content: BundleContent) -> RecordResult:
    run = content.run
    origin = _origin(run)
    step_rows = _step_rows(content.steps, origin, content.values)
    new_digest = ingest_rows.content_digest(ingest_rows.run_content(run), step_rows)
    placement = revisions.place(new_digest, step_rows, _revisions((run.app, run.external_id)))
    if placement.stored_run is not None:
        return RecordResult(run_id=placement.stored_run, is_new=False, revision=placement.revision)
    try:
        with transaction.atomic():
            new_run = Run.objects.create(
                **_columns(run, step_rows),
                source_run=origin,
                content_digest=new_digest,
                revision=placement.revision,
                supersedes_id=placement.supersedes,
            )
    except IntegrityError:  # another writer was faster
        return _store(content)
    # After the run, in the order of every writer, so that writers cannot deadlock.
    artifact_store.write_many({new_run.id: content.parts})
    services.insert_steps(new_run.id, step_rows)
    stored_provenance.insert_edges((new_run.id, EdgeFact(**dict(edge))) for edge in content.edges)
    services.insert_tags(new_run.id, run.tags)
    judgements_services.begin([new_run.id])
    tool_calls.insert_run(new_run)
    services.seal_recorded([new_run.id])
    if run.caption is not None:
        captions.describe(new_run.id, title=run.caption.title, note=run.caption.note, tags=run.caption.tags)
    return RecordResult(
        run_id=new_run.id,
        is_new=True,
        revision=placement.revision,
        supersedes=placement.supersedes,
        conflicts_with=placement.conflicts_with,
    )


def _revisions(identity: Identity) -> list[StoredRevision]:
    """Return the stored runs of an identity, with the digests of those that were derived here."""
    stored_revisions = revisions.stored_revisions([identity]).get(identity, [])
    without_digest = [revision.run_id for revision in stored_revisions if not revision.content_digest]
    digests = {run.id: content_digest(run) for run in Run.objects.filter(id__in=without_digest)}
    return [
        revision._replace(content_digest=digests.get(revision.run_id, revision.content_digest))
        for revision in stored_revisions
    ]


def _run_line(run: Run) -> JSONObject:
    origin = Run.objects.filter(id=run.source_run_id).first() if run.source_run_id else None
    line = RunLine.model_construct(
        **{name: getattr(run, name) for name in RunLine.model_fields if name not in _REFERENCES},
        derived_from=None
        if origin is None
        else Origin(app=origin.app, external_id=origin.external_id, content_digest=content_digest(origin)),
        caption=_caption_line(run),
    )
    # Earlier versions reject a field that they do not know.
    return line.model_dump(mode="json", warnings=False, exclude={"caption"} if line.caption is None else None)


def _caption_line(run: Run) -> CaptionLine | None:
    caption = RunCaption.objects.filter(run=run).first()
    if caption is None or not (caption.title or caption.note or caption.tags is not None):
        return None
    return CaptionLine.model_construct(title=caption.title, note=caption.note, tags=caption.tags)


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
    """Yield the judgements in the order of their keys, so that equal runs give equal files."""
    judgements = Judgement.objects.filter(run=run, withdrawn_at__isnull=True).order_by("key")
    for row in judgements.values_list(*STATEMENT_COLUMNS):
        line = JudgementLine.model_construct(**dict(zip(STATEMENT_COLUMNS, row, strict=True)))
        yield line.model_dump(mode="json", warnings=False)


def _judgement_lines_of(bundle: Bundle, steps: Sequence[StepLine]) -> list[JudgementLine]:
    """Parse the judgements of a bundle; raise `BadBundle` for a judgement of a missing step."""
    lines = []
    for number, value in enumerate(bundle.judgements, 1):
        location = f"judgements.jsonl:{number}"
        line = parse_line(JudgementLine, value, location)
        if line.step_no is not None and line.step_no > len(steps):
            detail = f"judgement {number} is of step {line.step_no}, which is not in the bundle"
            raise BadBundle(detail, where=f"{location}#/step_no")
        if (line.value is None) is (line.kind is JudgementKind.SCORE):
            detail = f"judgement {number}: a score needs a number, other kinds have none"
            raise BadBundle(detail, where=f"{location}#/value")
        lines.append(line)
    return lines


def _artifacts(steps: Sequence[Step], lost_digests: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield every artifact that the steps need, level by level; add unreadable ones to `lost_digests`."""
    visits: set[str] = set()
    level = _all_refs(steps)
    while level:
        visits |= level
        next_level: set[str] = set()
        checks = artifact_store.verify(sorted(level))
        data_by_digest = {item.sha256: item.data for item in checks if isinstance(item, StoredBytes)}
        lost_digests += sorted(level - data_by_digest.keys())
        for sha256 in sorted(data_by_digest):
            yield sha256, data_by_digest[sha256]
            next_level.update(references(orjson.loads(data_by_digest[sha256])))
        level = next_level - visits


def _all_refs(steps: Sequence[Any]) -> set[str]:
    return {ref for step in steps for name in _REFS if (ref := getattr(step, name))}


def _check_order(lines: Sequence[StepLine]) -> None:
    """Require steps to be numbered from 1, and parents to come first."""
    for number, line in enumerate(lines, 1):
        if line.sequence_no != number:
            raise BadBundle(f"step {number} has the number {line.sequence_no}", where=f"steps.jsonl:{number}")
        if line.parent_no is not None and line.parent_no >= number:
            raise BadBundle(f"step {number} comes before its parent", where=f"steps.jsonl:{number}")


def _check_edges(edges: Iterable[EdgeLine], lines: Sequence[StepLine], values: Readable) -> None:
    """Require producers to come first, edges to be unique, and histories to end at a message of the request."""
    identities: set[tuple[object, ...]] = set()
    for number, edge in enumerate(edges, 1):
        location = f"edges.jsonl:{number}"
        identity = (edge.producer, edge.consumer, edge.kind, edge.consumer_path)
        if not edge.producer < edge.consumer <= len(lines):
            raise BadBundle(f"edge {number} goes from step {edge.producer} to {edge.consumer}", where=location)
        if identity in identities:
            raise BadBundle(f"edge {number} is a duplicate", where=location)
        identities.add(identity)
        ref = lines[edge.consumer - 1].input_ref
        if ref in values.lost_digests or edge.kind is not EdgeKind.HISTORY:
            continue
        if not _is_message(edge.consumer_path, values.values.get(ref)):
            detail = f"edge {number}: step {edge.consumer} has no message “{edge.consumer_path}”"
            raise BadBundle(detail, where=f"{location}#/consumer_path")


def _is_message(path: str, request: JSONValue) -> bool:
    index = path.removeprefix("/messages/")
    return index != path and index.isdecimal() and int(index) < len(ModelRequest(request).messages)


def _payloads(bundle: Bundle, lines: Sequence[StepLine]) -> Readable:
    """Read the payloads of the steps; raise `BadBundle` for a missing part that is not listed as unavailable."""

    def load(digests: Iterable[str]) -> dict[str, JSONValue]:
        return {digest: orjson.loads(bundle.artifacts[digest]) for digest in digests if digest in bundle.artifacts}

    expansion.check(bundle.artifacts, _all_refs(lines))
    values = missing_parts.readable(_all_refs(lines), load)
    if missing := sorted(values.lost_digests - bundle.unavailable):
        raise BadBundle(f"the bundle lacks artifact {missing[0]}", where=f"artifacts/{missing[0]}")
    return values


def _origin(run: RunLine) -> Run | None:
    """Return the run that it was derived from, if that is stored here, and keep that from being deleted meanwhile."""
    origin = run.derived_from
    if origin is None:
        return None
    runs = Run.objects.filter(app=origin.app, external_id=origin.external_id, sealed_at__isnull=False)
    candidates = visible_runs().filter(id__in=lock(runs.values_list("id", flat=True)))
    return next((run for run in candidates if content_digest(run) == origin.content_digest), None)


def _step_rows(lines: Sequence[StepLine], origin: Run | None, values: Readable) -> list[StepRow]:
    """Build the rows of the steps.

    Signatures are computed, not read: a bundle could otherwise claim to answer any call. A call with an unreadable
    input has no signature.
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
    columns = {name: value for name, value in run if name not in _REFERENCES}
    sums = ingest_rows.totals_columns(ingest_rows.totals(step_rows), run.started_at, run.ended_at)
    return columns | sums | {"source": RunSource.BUNDLE}
