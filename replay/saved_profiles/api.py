"""REST views of stored override profiles and policies."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.saved_profiles import queries, services
from replay.saved_profiles.schemas import PolicyList, ProfileList, SavePolicy, SaveProfile, StoredPolicy, StoredProfile
from traces.http.bodies import parse_body
from traces.http.idempotency import check_key
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of


class ProfilesView(APIView):
    @extend_schema(operation_id="list_profiles", responses={200: ProfileList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the named override profiles."""
        return Response(queries.named_profiles())

    @extend_schema(
        operation_id="save_profile", parameters=[KEY], request=SaveProfile, responses={201: StoredProfile, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Save an override profile under a name. An existing name moves here; its previous profile is kept."""
        save_request = services.parse_profile(request.data)
        check_key("profile", key_of(request), request.data)
        digest = services.save_profile(save_request.name, save_request.profile, author=caller_of(request))
        return Response(queries.profile(digest), 201)


class ProfileView(APIView):
    @extend_schema(operation_id="get_profile", responses={200: StoredProfile, **PROBLEMS})
    def get(self, request: Request, ref: str) -> Response:
        """Return a profile by name, digest or a unique prefix of its digest."""
        return Response(queries.profile(ref))

    @extend_schema(operation_id="forget_profile_name", responses={204: None, **PROBLEMS})
    def delete(self, request: Request, ref: str) -> Response:
        """Delete a name. The profile is kept: replays refer to it by its digest."""
        services.forget_name("profile", ref, author=caller_of(request))
        return Response(status=204)


class PoliciesView(APIView):
    @extend_schema(operation_id="list_policies", responses={200: PolicyList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the named policies."""
        return Response(queries.named_policies())

    @extend_schema(
        operation_id="save_policy", parameters=[KEY], request=SavePolicy, responses={201: StoredPolicy, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Save a policy under a name. An existing name moves here; its previous policy is kept."""
        save_request = parse_body(SavePolicy, request.data)
        check_key("policy", key_of(request), request.data)
        digest = services.save_policy(save_request.name, save_request.policy, author=caller_of(request))
        return Response(queries.policy(digest), 201)


class PolicyView(APIView):
    @extend_schema(operation_id="get_policy", responses={200: StoredPolicy, **PROBLEMS})
    def get(self, request: Request, ref: str) -> Response:
        """Return a policy by name, digest or a unique prefix of its digest."""
        return Response(queries.policy(ref))

    @extend_schema(operation_id="forget_policy_name", responses={204: None, **PROBLEMS})
    def delete(self, request: Request, ref: str) -> Response:
        """Delete a name. The policy is kept: replays refer to it by its digest."""
        services.forget_name("policy", ref, author=caller_of(request))
        return Response(status=204)
