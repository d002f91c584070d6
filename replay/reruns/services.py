"""Start and end a rerun, and answer the calls that the agent makes in it."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from django.db import transaction

from replay.core.errors import ReplayRefusal, SessionConflict
from replay.execution.session_redaction import SessionRedaction
from replay.models import Rerun, RerunCall
from replay.reruns import recordings
from replay.reruns.core.built_responses import build_body
from replay.reruns.core.matcher import Divergence, Match, Matcher
from replay.reruns.core.playback import rename_body
from replay.reruns.core.renaming import Renaming
from replay.reruns.recordings import RecordedResponse
from replay.sessions.prepare import source_refusal
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, StepType
from traces.runs import queries as runs

# Characters of a value in an error of a client.
_SHORT = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentRequest:
    """A model call of the agent, as the input of a step."""

    input: JSONObject
    provider: str
    model: str
    headers: JSONObject
    api: str
    is_streamed: bool
    # Whether the end of a stream is to state the tokens.
    states_usage: bool


def start(ref: str, *, caller: str) -> Rerun:
    """Open a rerun of a run; raise `ReplayRefusal` if its recording cannot answer."""
    run = runs.find_run(ref)
    if refusal := source_refusal(run):
        raise ReplayRefusal(refusal)
    return Rerun.objects.create(source_run=run, by=caller)


def answer(id: UUID, request: AgentRequest) -> RecordedResponse:
    """Return the recorded response of a call; raise `SessionConflict` if the call is not in the recording.

    A recording contains what its app's policy allows, so the call is compared as it would be stored.
    """
    rerun = Rerun.objects.select_related("source_run").get(id=id)
    input = SessionRedaction(rerun.source_run.app).field(StepType.MODEL, "input", request.input)
    recording = recordings.load_requests(rerun.source_run_id)
    headers = request.headers if recording.has_headers else {}
    strict: JSONObject = {"provider": request.provider, "model": request.model, **headers}
    with transaction.atomic():
        rerun = Rerun.objects.select_for_update().get(id=id)
        if rerun.ended_at is not None:
            raise SessionConflict("it has ended")
        matcher = Matcher(
            calls=recording.requests,
            used_numbers={no for no in rerun.calls.values_list("sequence_no", flat=True) if no is not None},
            renaming=Renaming.from_pairs(rerun.names),
        )
        result = matcher.match(input if isinstance(input, dict) else {}, strict)
        response = _response(rerun, result, matcher.renaming, request) if isinstance(result, Match) else None
        _save(rerun, result, matcher.renaming, is_answered=response is not None)
    if isinstance(result, Divergence):
        raise SessionConflict(_divergence_reason(rerun, result))
    if response is None:
        form = "a stream" if request.is_streamed else "one document"
        raise SessionConflict(
            f"the answer of step {result.call.no} is not recorded such that it could be given as {form}"
        )
    return response


def end(rerun: Rerun, exit_code: int) -> Rerun:
    """Record how the agent ended. The first end counts."""
    Rerun.objects.filter(id=rerun.id, ended_at=None).update(ended_at=datetime.now(UTC), exit_code=exit_code)
    return Rerun.objects.get(id=rerun.id)


def _save(rerun: Rerun, result: Match | Divergence, renaming: Renaming, *, is_answered: bool) -> None:
    if isinstance(result, Match):
        label = "" if not is_answered else Label.EXACT if result.is_exact else Label.CACHED
        RerunCall.objects.create(rerun=rerun, sequence_no=result.call.no, label=label)
        if result.renames:
            Rerun.objects.filter(id=rerun.id).update(names=renaming.pairs())
        return
    difference = result.difference
    places: JSONObject | None = None
    if result.nearest is not None and difference is not None:
        places = {"step": result.nearest.no, "path": difference.path, "old": difference.old, "new": difference.new}
    RerunCall.objects.create(rerun=rerun, difference=places)


def _divergence_reason(rerun: Rerun, divergence: Divergence) -> str:
    if divergence.nearest is None or divergence.difference is None:
        return f"run {rerun.source_run_id} has no model call left that this one could be"
    difference = divergence.difference
    return (
        f"this call is not in the recording of run {rerun.source_run_id}: at {difference.path} it has "
        f"{str(difference.new)[:_SHORT]!r}, and step {divergence.nearest.no} has {str(difference.old)[:_SHORT]!r}"
    )


def _response(rerun: Rerun, match: Match, renaming: Renaming, request: AgentRequest) -> RecordedResponse | None:
    """Return the response as it came, or one with the same content in the form that the agent asks for, if possible."""
    response = recordings.load_response(rerun.source_run_id, match.call.no)
    if response is None or (response.status < 400 and response.is_stream != request.is_streamed):
        response = _built_response(rerun, match, request)
    return response and replace(response, body=rename_body(response.body, renaming))


def _built_response(rerun: Rerun, match: Match, request: AgentRequest) -> RecordedResponse | None:
    answer = recordings.load_answer(rerun.source_run_id, match.call.no)
    body = answer and build_body(
        request.api, answer, is_streamed=request.is_streamed, states_usage=request.states_usage
    )
    if not body:
        return None
    media_type = recordings.STREAM if request.is_streamed else "application/json"
    return RecordedResponse(status=200, headers=[("content-type", media_type)], body=body)
