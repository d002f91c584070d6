"""Answers calls of an agent that runs again, from the recording of a run."""

from uuid import UUID

from django.db import close_old_connections

from cockpit.gateway.events import Call, request_payload
from cockpit.gateway.refusals import Refusal
from replay.reruns import services
from replay.reruns.recordings import REQUEST_HEADERS, RecordedResponse
from traces.core.json_access import as_object, as_text
from traces.errors import ProblemError
from traces.importers.formats.tracing.client_calls import model_request


def answer(call: Call, *, limit: int) -> RecordedResponse:
    """Return the recorded response of a call; raise `Refusal` if there is none."""
    if not call.operation.api:
        raise Refusal(
            status=400, reason=f"rerun {call.run_id}: {call.operation.path} is not recorded, so it is refused"
        )
    payload = request_payload(call, limit=limit)
    body = as_object(payload["request"])
    request = services.AgentRequest(
        input=as_object(model_request(payload)),
        provider=as_text(payload["provider"]),
        model=as_text(payload["model_id"]),
        headers=as_object(payload.get(REQUEST_HEADERS)),
        api=call.operation.api,
        is_streamed=body.get("stream") is True or "streamGenerate" in call.operation.path,
        states_usage=as_object(body.get("stream_options")).get("include_usage") is True,
    )
    close_old_connections()
    try:
        return services.answer(UUID(call.run_id), request)
    except ProblemError as problem:
        raise Refusal(status=400, reason=f"rerun {call.run_id}: {problem.detail}") from problem
    finally:
        close_old_connections()
