"""REST interface of proofs."""

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
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of


class ProvePreviewView(APIView):
    @extend_schema(operation_id="preview_proof", request=ProofRequest, responses={200: ProofPlan, **PROBLEMS})
    def post(self, request: Request, id: UUID) -> Response:
        """Estimate the maximum number of probes, live calls and dollars of a proof. Refusals are in the plan."""
        proof_request = parse_body(ProofRequest, request.data)
        previews.count(request, previews.SEARCHES)
        return Response(services.preview(id, proof_request))


class ProveView(APIView):
    @extend_schema(
        operation_id="prove_diff", parameters=[KEY], request=ProofRequest, responses={201: ProofView, **PROBLEMS}
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Find out by counterfactual replays which change made the difference."""
        proof_request = parse_body(ProofRequest, request.data)
        proof = services.start(id, proof_request, key_of(request), by=caller_of(request))
        return Response(queries.view(proof), 201)


class ProofsView(APIView):
    @extend_schema(operation_id="list_proofs", responses={200: ProofList, **PROBLEMS})
    def get(self, request: Request, id: UUID) -> Response:
        """The proofs of a report, newest first."""
        return Response(queries.of_diff(diffs.find(id).id))


class ProofDetailView(APIView):
    @extend_schema(operation_id="get_proof", responses={200: ProofView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """A proof in its current state, with its findings so far."""
        return Response(queries.view(queries.find(id)))


class ProofCancelView(APIView):
    @extend_schema(operation_id="cancel_proof", request=None, responses={200: ProofView, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Cancel a proof. Its findings so far stay with the report."""
        return Response(queries.view(services.cancel(queries.find(id).id)))
