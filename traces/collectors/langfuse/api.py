"""REST endpoints of Langfuse that its SDKs use. Refusals are `{message, error}`, as Langfuse answers them."""

from typing import Any, ClassVar, Final

from django.http import HttpRequest, HttpResponse

from traces.collectors.back_pressure import slot
from traces.collectors.collector_view import CollectorView, answer, project_of
from traces.collectors.encoded_bodies import read_body
from traces.collectors.json_bodies import read_json
from traces.collectors.langfuse.events import BadRequest, Split, deletion, score_events, split_batch, split_events
from traces.errors import NotFound
from traces.recordings import addresses, arrivals

# The version of Langfuse whose protocol this is; its SDKs compare it.
_VERSION: Final = "3.100.0"
_SCORE: Final = "langfuse-score"
_PROJECT: Final = {
    "id": "forkpoint",
    "name": "Forkpoint",
    "organization": {"id": "forkpoint", "name": "Forkpoint"},
    "metadata": {},
}


class IngestionView(CollectorView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Record events; the answer lists each of them as stored or rejected."""
        body = read_json(read_body(request))
        with slot():
            split = split_batch(body)
            _store(split, project_of(request))
        errors = [
            {"id": error.id, "status": 400, "message": "Invalid request data", "error": error.reason}
            for error in split.errors
        ]
        return answer({"successes": [{"id": id, "status": 201} for id in split.event_ids], "errors": errors}, 207)


class ScoresView(CollectorView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Record one score, or a list of them."""
        body = read_json(read_body(request))
        with slot():
            split = split_events(score_events(body.value), body)
            _store(split, project_of(request))
        if isinstance(body.value, list):
            if not split.errors:
                return answer({"message": "Accepted"}, 202)
            results = {"accepted": len(split.event_ids), "rejected": len(split.errors)}
            return answer({**results, "errors": [{"message": error.reason} for error in split.errors]}, 207)
        if split.errors:
            raise BadRequest(split.errors[0].reason)
        return answer({"id": split.event_ids[0]})


class ScoreView(CollectorView):
    def delete(self, request: HttpRequest, id: str) -> HttpResponse:
        """Delete a score that was sent to this server; it is withdrawn from its run."""
        address = addresses.find(_SCORE, [id]).get(id)
        if address is None:
            raise NotFound(f"there is no score “{id[:60]}”")
        with slot():
            arrivals.accept([deletion(id, address.external_id)], project=address.project)
        return answer({"message": f"Score {id} deleted"}, 202)


class HealthView(CollectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return answer({"status": "OK", "version": _VERSION})


class ProjectsView(CollectorView):
    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the project of the key, by which clients check their keys."""
        return answer({"data": [_PROJECT]})


class MissingView(CollectorView):
    """What Forkpoint does not have: prompts, datasets, and the reading of traces."""

    title: ClassVar[str] = "endpoint"

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        raise NotFound(f"Forkpoint has no {self.title} “{kwargs['path'][:200]}”")


class PromptView(MissingView):
    title = "prompt"


def _store(split: Split, project: str) -> None:
    addresses.note(_SCORE, split.scores, project=project)
    arrivals.accept(split.segments, project=project)
