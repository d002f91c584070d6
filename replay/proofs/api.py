"""The REST interface of proofs."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from diffing import queries as diffs
from replay.proofs import queries, services
from replay.proofs.core.schemas import ProofList, ProofPlan, ProofRequest, ProofView
from replay.sessions import previews
from traces.http.bodies import parse_body
from traces.http.responses import KEY, PROBLEMS, key_of


class ProvePreviewView(APIView):
    @extend_schema(operation_id="preview_proof", request=ProofRequest, responses={200: ProofPlan, **PROBLEMS})
    def post(self, request: Request, id: UUID) -> Response:
        """How many probes, live calls and dollars a proof takes at most. Nothing runs; refusals are in the plan."""
        question = parse_body(ProofRequest, request.data)
        previews.count(request, previews.SEARCHES)
        return Response(services.preview(id, question))


class ProveView(APIView):
    @extend_schema(
        operation_id="prove_diff", parameters=[KEY], request=ProofRequest, responses={201: ProofView, **PROBLEMS}
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Find out by counterfactual replays which change made the difference."""
        asked = parse_body(ProofRequest, request.data)
        proof = services.start(id, asked, key_of(request))
        return Response(queries.view(proof), 201)


class ProofsView(APIView):
    @extend_schema(operation_id="list_proofs", responses={200: ProofList, **PROBLEMS})
    def get(self, request: Request, id: UUID) -> Response:
        """The proofs on a report, the newest first."""
        return Response(queries.of_diff(diffs.find(id).id))


class ProofDetailView(APIView):
    @extend_schema(operation_id="get_proof", responses={200: ProofView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """A proof as it is now, with what it has found so far."""
        return Response(queries.view(queries.find(id)))


class ProofCancelView(APIView):
    @extend_schema(operation_id="cancel_proof", request=None, responses={200: ProofView, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Stop a proof; what is known by then is kept with the report."""
        return Response(queries.view(services.cancel(queries.find(id).id)))
