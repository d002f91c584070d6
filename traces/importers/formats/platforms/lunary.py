"""Lunary: runs as its exports, its API and its page of a trace have them. The runs below one root are one recording.

{"id", "parentRunId", "type": "llm", "name", "input", "output", "createdAt", "endedAt", "tokens" or "promptTokens", …}

An export of traces has the inner runs of each in `children`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    omit,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    container_type,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call, add_cost, find_outer_spans

FORMAT: Final = "lunary"
_HOLDERS: Final = ("data", "runs")
_REFUSAL: Final = "a run of Lunary needs `id`, a known `type` and `createdAt`"
_TYPES: Final = {
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "retriever": StepType.RETRIEVAL,
    "embed": StepType.RETRIEVAL,
    "chat": StepType.TURN,
    **dict.fromkeys(("agent", "chain", "thread", "convo", "trace"), StepType.AGENT),
}
_MARKS: Final = frozenset({"parentRunId", "promptTokens", "tokens", "siblingRunId", "templateVersionId", "children"})
_PARENT: Final = "parentRunId"
_COUNTS: Final = {
    "promptTokens": "prompt_tokens",
    "prompt": "prompt_tokens",
    "completionTokens": "completion_tokens",
    "completion": "completion_tokens",
    "cachedPromptTokens": "cached_tokens",
}
_FIELDS: Final = frozenset(
    {"id", _PARENT, "type", "name", "input", "output", "error", "createdAt", "endedAt", "cost", "params", "scores"}
    | {"feedback", "tags", "user", "tokens", "children", "traceId", "status", "duration", "metadata", *_COUNTS}
)


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is a run, or a list or page of these."""
    body = as_object(first_item(value))
    if _is_run(body):
        return bool(_MARKS & body.keys())
    return any(has_list(body, name) and is_export(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per root."""
    runs = {as_text(run["id"]): run for run in parse_records(sources, _read)}
    groups: dict[str, dict[str, JSONObject]] = {}
    roots: dict[str, str] = {}
    for id, run in runs.items():
        groups.setdefault(_root(id, runs, roots), {})[id] = run
    for root_id, members in groups.items():
        yield _run(root_id, members)


def _is_run(body: JSONObject) -> bool:
    return bool(as_text(body.get("id")) and "createdAt" in body) and as_text(body.get("type")) in _TYPES


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield runs and those inside them; raise `BadFile` for one that cannot become a step."""
    for run, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_run, refusal=_REFUSAL):
        for inner, inner_place in _unfold(run, None, place):
            _step(inner, inner_place)
            yield inner


def _unfold(run: JSONObject, parent: str | None, location: str) -> Iterator[tuple[JSONObject, str]]:
    """Yield a run and its children, each with the id of its parent."""
    yield {**run, _PARENT: run.get(_PARENT) or parent}, location
    for number, child in enumerate(as_objects(parse_embedded(run.get("children")))):
        place = f"{location}/children/{number}"
        yield from _unfold(child if as_text(child.get("id")) else {**child, "id": place}, as_text(run["id"]), place)


def _root(id: str, runs: dict[str, JSONObject], roots: dict[str, str]) -> str:
    """Return the id of the root above a run, which the file may not contain; `roots` are those already known."""
    path: dict[str, None] = {}
    while id in runs and id not in roots and id not in path:
        path[id] = None
        # A page of the API names the root alone.
        id = as_text(first_member(runs[id], _PARENT, "traceId")) or id
    root = roots.get(id, id)
    roots.update(dict.fromkeys(path, root))
    return root


def _run(root_id: str, runs: dict[str, JSONObject]) -> RecordedRun:
    outer_ids = find_outer_spans(
        {id: as_text(run.get(_PARENT)) for id, run in runs.items()},
        [id for id, run in runs.items() if run.get("type") == "llm"],
    )
    steps = match_calls(sort_causally([_step(run, f"run {id}", is_outer=id in outer_ids) for id, run in runs.items()]))
    root = runs.get(root_id) or runs[steps[0].key]
    name = as_text(root.get("name"))
    users = [user for run in runs.values() if (user := _user(run))]
    return build_run(
        RunFacts(
            external_id=root_id,
            app=(app_name(name) if root.get("type") != "llm" else "") or FORMAT,
            format=FORMAT,
            name=name,
            failed=root.get("status") == "error",
            tags=[as_text(tag) for run in runs.values() for tag in as_list(parse_embedded(run.get("tags")))],
            metadata={
                "user": next(iter(users), None),
                "metadata": parse_embedded(root.get("metadata")),
                "project_id": root.get("projectId"),
            },
            judgements=[item for id, run in runs.items() for item in _judgements(run, None if run is root else id)],
        ),
        steps,
        location=f"run {root_id}",
    )


def _user(run: JSONObject) -> JSONValue:
    """Return the user, which rows of the export describe by columns."""
    user = parse_embedded(run.get("user"))
    columns: JSONObject = {
        name: run[column] for name, column in (("id", "userExternalId"), ("props", "userProps")) if run.get(column)
    }
    return user or columns


def _step(run: JSONObject, location: str, *, is_outer: bool = False) -> RecordedStep:
    """Build the step of a run; `is_outer` runs contain model calls."""
    kind, error = as_text(run.get("type")), parse_embedded(run.get("error"))
    name = as_text(run.get("name")) or kind
    step_type = _TYPES.get(kind, StepType.AGENT)
    if is_outer or step_type is StepType.AGENT:
        step_type = container_type(name)
    has_failed = run.get("status") == "error" or bool(error)
    detail = as_object(error)
    params = as_object(parse_embedded(run.get("params")))
    facts = SpanFacts(
        key=as_text(run.get("id")),
        name=name,
        type=step_type,
        parent=as_text(run.get(_PARENT)) or None,
        times=parse_span(run.get("createdAt"), run.get("endedAt"), location),
        failed=has_failed,
        error=(as_text(first_member(detail, "message")) or as_text(error) or "error") if has_failed else "",
        input=parse_embedded(run.get("input")),
        output=parse_embedded(run.get("output")),
        attributes={
            **other_members(run, _FIELDS),
            **other_members({"metadata": parse_embedded(run.get("metadata"))}, ()),
            **({"error_details": rest} if (rest := omit(detail, "message", "enrichments")) else {}),
        },
    )
    if step_type is not StepType.MODEL:
        facts.attributes |= {"params": params} if params else {}
        return build_step(facts)
    counts = {**run, **as_object(parse_embedded(run.get("tokens")))}
    facts = add_call(
        facts,
        settings=params,
        model=as_text(run.get("name")),
        provider=None,
        usage={_COUNTS[count]: item for count, item in counts.items() if count in _COUNTS and item},
    )
    return build_step(add_cost(facts, run.get("cost")))


def _judgements(run: JSONObject, step: str | None) -> Iterator[RecordedJudgement]:
    """Yield the scores of a run, and the feedback of its user."""
    for score in as_objects(parse_embedded(run.get("scores"))):
        name = as_text(score.get("label")) or "score"
        yield judgement(name, score.get("value"), text=as_text(score.get("comment")), step=step)
    feedback = as_object(parse_embedded(run.get("feedback")))
    comment = as_text(feedback.get("comment"))
    if (thumb := as_text(feedback.get("thumb") or feedback.get("thumbs"))) in {"up", "down"}:
        kind = JudgementKind.PASS if thumb == "up" else JudgementKind.FAIL
        yield RecordedJudgement(name="feedback", kind=kind, text=comment, step=step)
    elif feedback.get("score") is not None or comment:
        yield judgement("feedback", feedback.get("score"), text=comment, step=step)
