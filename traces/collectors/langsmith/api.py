"""REST endpoints of LangSmith that its SDKs use. Refusals are `{detail}`, as LangSmith answers them."""

from datetime import UTC, datetime
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid4, uuid5

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from traces.collectors.back_pressure import slot
from traces.collectors.collector_view import CollectorView, answer, project_of
from traces.collectors.encoded_bodies import read_body
from traces.collectors.json_bodies import JsonBody, read_json
from traces.collectors.langsmith import traces_of_runs
from traces.collectors.langsmith.records import Split, feedback_change, split_batch
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject
from traces.errors import NotFound, ProblemError
from traces.importers.files.errors import BadFile
from traces.importers.formats.tracing import langsmith_multipart
from traces.recordings import addresses, arrivals

# Clients send feedback in batches from version 0.8.10 on, and use endpoints that are not here from 0.16 on.
_VERSION: Final = "0.12.0"
_FEEDBACK: Final = "langsmith-feedback"
_MAX_REASONS: Final = 5


class RejectedRecords(ProblemError):
    """Some records of a request cannot be stored; the others are."""

    status = 422


class InfoView(CollectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        """Return what this server accepts: clients choose how to send by it."""
        return answer(
            {
                "version": _VERSION,
                "instance_flags": {"zstd_compression_enabled": True},
                "batch_ingest_config": {
                    "use_multipart_endpoint": True,
                    "scale_up_qsize_trigger": 1000,
                    "scale_up_nthreads_limit": 16,
                    "scale_down_nempty_trigger": 4,
                    "size_limit": 100,
                    "size_limit_bytes": min(20 * 1024 * 1024, settings.MAX_BODY_BYTES),
                },
            }
        )


class MultipartView(CollectorView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Record the runs, attachments and feedback of a form."""
        body = read_body(request)
        with slot():
            problems: list[BadFile] = []
            batch = langsmith_multipart.read_batch(body, problems)
            _store(split_batch(batch), request, problems)
        return answer({"message": "Runs batch ingested"}, 202)


class BatchView(CollectorView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Record runs: `post` creates them, `patch` adds to them."""
        body = read_json(read_body(request))
        _record(_require_object(body), body, request)
        return answer({"message": "Runs batch ingested"}, 202)


class RunsView(CollectorView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Record one run."""
        body = read_json(read_body(request))
        _record({"post": [_require_object(body)]}, body, request)
        return answer({"message": "Run ingested"}, 202)


class MissingView(CollectorView):
    """What Forkpoint does not have: prompts, datasets, and the reading of runs."""

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        raise NotFound(f"Forkpoint has no endpoint {request.method} {request.path[:200]}")


class RunView(MissingView):
    def patch(self, request: HttpRequest, id: str) -> HttpResponse:
        """Add to a run, usually its outputs and its end."""
        body = read_json(read_body(request))
        _record({"patch": [{**_require_object(body), "id": id}]}, body, request)
        return answer({"message": "Run updated"}, 202)


class FeedbackListView(MissingView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Record feedback on a run."""
        body = read_json(read_body(request))
        feedback = {"id": str(uuid4()), **_require_object(body)}
        _record({"feedback": [feedback]}, body, request)
        return answer(feedback)


class FeedbackView(MissingView):
    def patch(self, request: HttpRequest, id: str) -> HttpResponse:
        """Change fields of feedback that was sent to this server."""
        body = read_json(read_body(request))
        _change_feedback(id, _require_object(body))
        return answer({"id": id})

    def delete(self, request: HttpRequest, id: str) -> HttpResponse:
        """Delete feedback that was sent to this server; it is withdrawn from its run."""
        _change_feedback(id, None)
        return answer({"message": "Feedback deleted"})


class SessionsView(CollectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the project with a name: any name is a project, which exists as soon as runs of it arrive."""
        name = request.GET.get("name", "default")
        id, tenant = uuid5(NAMESPACE_URL, f"project:{name}"), uuid5(NAMESPACE_URL, "tenant")
        start = datetime.now(UTC).isoformat()
        project = {"id": str(id), "name": name, "tenant_id": str(tenant), "start_time": start}
        return answer([{**project, "reference_dataset_id": None}])


def _require_object(body: JsonBody) -> JSONObject:
    if not isinstance(body.value, dict):
        raise BadFile("expected an object")
    return as_object(body.value)


def _record(batch: JSONObject, body: JsonBody, request: HttpRequest) -> None:
    with slot():
        _store(split_batch(batch, body), request, [])


def _store(split: Split, request: HttpRequest, problems: list[BadFile]) -> None:
    """Store a batch, and what arrived earlier for its runs. Raises `RejectedRecords` for the records left out."""
    project = project_of(request)
    with transaction.atomic():
        addresses.note(traces_of_runs.RUN, split.run_addresses, project=project)
        addresses.note(_FEEDBACK, split.feedback_addresses, project=project)
        arrivals.accept(split.segments, project=project)
        arrivals.move(split.children, project=project)
    reasons = [str(problem) for problem in (*problems, *split.problems)]
    if reasons:
        more = f"; and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
        raise RejectedRecords(f"not stored: {'; '.join(reasons[:_MAX_REASONS])}{more}")


def _change_feedback(id: str, change: JSONObject | None) -> None:
    address = addresses.find(_FEEDBACK, [id]).get(id)
    if address is None:
        raise NotFound(f"there is no feedback “{id[:60]}”")
    with slot():
        arrivals.accept([feedback_change(id, address.external_id, change)], project=address.project)
