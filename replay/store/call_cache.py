"""Call cache: real answers to equal or similar calls in any sealed run of the app."""

from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Q, Value
from django.db.models.functions import Coalesce, NullIf

from replay.core.calls import LIVE_REASONS, CachedAnswer
from replay.core.values.tool_servers import Server
from replay.resolution import tool_matching
from replay.store import mcp_servers
from traces.call_index import tool_calls
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.models import ReducedSignature, Run, Step
from traces.payloads.parts import MissingPart
from traces.signatures.call_shapes import shape_of
from traces.signatures.ignore_rules import NO_RULES, IgnoreRules, is_reduced
from traces.storage import artifacts, bulk

# Outputs that were recorded or came from a live call. Reused steps of a replay are copies and are found in their source
# run: a copy of a placeholder, of an override or of a similar call's answer must not count as this call's answer.
_NOT_COPIED: Final = ~Q(reason=Reason.SOURCE_OUTPUT_REUSED)
_REAL: Final = (Q(label=Label.LIVE) | Q(reason__in=LIVE_REASONS)) & _NOT_COPIED
# As in the condition of the index; a literal, because not every database compares a parameter with it.
_NOT_COPIED_SQL: Final = f"NOT (reason = '{Reason.SOURCE_OUTPUT_REUSED}')"
# Of other MCP servers there may be some.
_READ_ATTEMPTS: Final = 20
NO_SERVER: Final[Server] = {}
_COLUMNS: Final = ("id", "run_id", "sequence_no", "output_ref", "status")
_TOOL: Final = Coalesce(NullIf("tool_name", Value("")), "name")
_USAGE: Final = ("tokens_in", "tokens_out", "tokens_cached", "cost_usd")


def _same_call(app: str, signature: str) -> Q:
    """Match steps with this signature, or with one that the app's ignore list reduces to it."""
    if not is_reduced(signature):
        return Q(signature=signature)
    same = ReducedSignature.objects.filter(ignore_list__app=app, reduced=signature)
    return Q(signature__in=same.values("signature"))


def lookup(
    app: str,
    signature: str,
    *,
    exclude: Collection[UUID] = (),
    exclude_run: UUID | None = None,
    source: UUID | None = None,
    server: Server = NO_SERVER,
) -> CachedAnswer | None:
    """Return the newest readable answer to this exact call, but for those of some steps or of a run.

    A call of an MCP server's tool is answered by calls of this server only: it is `server`, or that from which the run
    `source` has the tool.
    """
    if not is_reduced(signature) and not _is_known(signature):
        return None
    is_elsewhere = Q() if exclude_run is None else ~Q(run=exclude_run)
    candidates = (
        Step.objects.filter(_REAL, is_elsewhere, _same_call(app, signature), run__app=app, run__sealed_at__isnull=False)
        .filter(run__deletion__isnull=True)
        .filter(status=StepStatus.OK)
        .exclude(output_ref="")
        .exclude(id__in=exclude)
        .order_by("-id")
        .annotate(tool=_TOOL)
        .values_list(*_COLUMNS, "type", "tool", "attributes_ref", *_USAGE)[:_READ_ATTEMPTS]
    )
    for step_id, run_id, number, output_ref, status, type, tool, attributes_ref, *usage in candidates:
        if server and not mcp_servers.is_of([server], attributes_ref):
            continue
        if source and type == StepType.TOOL and not mcp_servers.may_answer(source, tool, attributes_ref):
            continue
        try:
            output = artifacts.payload(output_ref)
        except MissingPart:
            continue
        location: JSONObject = {"run": str(run_id), "step": number, "id": str(step_id), "similarity": 1.0}
        return CachedAnswer(
            output_ref=output_ref,
            output=output,
            status=StepStatus(status),
            location=location,
            **dict(zip(_USAGE, usage, strict=True)),
        )
    return None


def _is_known(signature: str) -> bool:
    """True if any step that is not a copy has this signature.

    Plans look up thousands of signatures that do not exist; building a queryset for each takes longer than raw SQL.
    """
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(Step._meta.db_table)
        cursor.execute(f"SELECT 1 FROM {table} WHERE signature = %s AND {_NOT_COPIED_SQL} LIMIT 1", [signature])
        return cursor.fetchone() is not None


def is_any_recorded(signatures: Iterable[str]) -> bool:
    """True if any step of any run that is not a copy has one of these signatures, whatever its label."""
    table = connection.ops.quote_name(Step._meta.db_table)
    with connection.cursor() as cursor:
        for chunk in bulk.chunks(signatures):
            # Raw SQL as in `_is_known`.
            places = ", ".join(["%s"] * len(chunk))
            conditions = f"signature IN ({places}) AND {_NOT_COPIED_SQL}"
            cursor.execute(f"SELECT 1 FROM {table} WHERE {conditions} LIMIT 1", chunk)
            if cursor.fetchone() is not None:
                return True
    return False


def similar(
    run: Run, tool: str, arguments: JSONValue, threshold: float, ignoring: IgnoreRules = NO_RULES
) -> CachedAnswer | None:
    """Return the answer to the most similar tool call in this run, or else in any sealed run of the app.

    The newest of equally similar calls wins. Fields on the app's ignore list are not compared.
    """
    shape = shape_of(tool, ignoring.reduce(StepType.TOOL, tool, arguments))
    ignore_digest = ignoring.digest if ignoring.rules_for(StepType.TOOL, tool) else ""
    query = tool_calls.CallQuery(app=run.app, shape=shape, rules_digest=ignore_digest)
    long_matches = _long_matches(query, tool, threshold, ignoring)
    for scope in (run.id, None):
        matches = [
            *_short_matches(query, threshold, scope),
            *(match for match in long_matches if scope in {None, match[1][0]}),
        ]
        answers = (_read_answer(run, *place, score) for score, place in sorted(matches, key=_score, reverse=True))
        if (answer := next(filter(None, answers), None)) is not None:
            return answer
    return None


_Match = tuple[float, tuple[UUID, int]]


def _short_matches(query: tool_calls.CallQuery, threshold: float, run: UUID | None) -> list[_Match]:
    """Find the most similar of the calls whose arguments are indexed as text, and all steps that made it."""
    own_texts, best = tool_calls.join_texts(query.shape), None
    for texts, ceiling in tool_calls.similar_texts(query, threshold, run=run):
        match = tool_matching.most_alike(own_texts, texts, threshold)
        best = max(filter(None, (best, match)), key=itemgetter(1), default=None)
        if best is not None and best[1] >= ceiling:
            break
    return [] if best is None else [(best[1], place) for place in tool_calls.places(query, best[0], run=run)]


def _long_matches(query: tool_calls.CallQuery, tool: str, threshold: float, ignoring: IgnoreRules) -> list[_Match]:
    """Find similar calls with long arguments: preselect by marks, then compare the arguments."""
    marks = tool_calls.similar_marks(query, threshold)
    nearest = tool_matching.nearest_marks(tool_calls.mark(query), marks) if marks else []
    matches: list[_Match] = []
    for mark in nearest:
        for place in tool_calls.places_of_mark(query, mark):
            score = _similarity(query, tool, threshold, ignoring, place)
            matches += [] if score is None else [(score, place)]
    return matches


def _similarity(
    query: tool_calls.CallQuery, tool: str, threshold: float, ignoring: IgnoreRules, place: tuple[UUID, int]
) -> float | None:
    """Similarity of a recorded call; None if its arguments are unreadable or it is below the threshold."""
    ref = Step.objects.values_list("input_ref", flat=True).get(run_id=place[0], sequence_no=place[1])
    try:
        arguments = artifacts.payload(ref) if ref else None
    except MissingPart:
        return None
    shape = shape_of(tool, ignoring.reduce(StepType.TOOL, tool, arguments))
    is_comparable = shape.rigid == query.shape.rigid
    best = is_comparable and tool_matching.most_alike(
        tool_calls.join_texts(query.shape), [tool_calls.join_texts(shape)], threshold
    )
    return best[1] if best else None


def _score(match: _Match) -> float:
    return match[0]


def _read_answer(source: Run, run_id: UUID, number: int, similarity: float) -> CachedAnswer | None:
    """Read the answer of a recorded tool call; None if its output is unreadable, or its MCP server is another one."""
    columns = ("id", "output_ref", "status", "tool", "attributes_ref")
    values = Step.objects.annotate(tool=_TOOL).values_list(*columns).get(run_id=run_id, sequence_no=number)
    step_id, output_ref, status, tool, attributes_ref = values
    if not mcp_servers.may_answer(source.id, tool, attributes_ref):
        return None
    try:
        output = artifacts.payload(output_ref)
    except MissingPart:
        return None
    location: JSONObject = {
        "run": str(run_id),
        "step": number,
        "id": str(step_id),
        "similarity": round(similarity, 4),
    }
    return CachedAnswer(output_ref=output_ref, output=output, status=StepStatus(status), location=location)
