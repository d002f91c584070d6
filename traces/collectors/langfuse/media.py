"""Uploads of images and files that Langfuse clients take out of the payloads."""

import hmac
from base64 import b64encode
from hashlib import sha256
from typing import Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from traces.collectors.back_pressure import slot
from traces.collectors.collector_view import CollectorView, answer, project_of
from traces.collectors.encoded_bodies import read_body
from traces.collectors.json_bodies import read_json
from traces.collectors.langfuse.events import BadRequest, media_segment
from traces.core.json_access import as_integer, as_object, as_text
from traces.core.json_types import JSONObject
from traces.errors import ProblemError, TooLarge
from traces.recordings import arrivals

_SALT: Final = "langfuse-media"
_LIFETIME_S: Final = 3600
# As clients compute it from the digest of the content.
_ID_LENGTH: Final = 22


class InvalidUpload(ProblemError):
    """An upload whose address was not given out by this server, or has expired."""

    code = "auth_forbidden"
    status = 403


class MediaView(CollectorView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Return the address to upload a file to. It is signed, because clients upload without their key."""
        body = as_object(read_json(read_body(request)).value)
        digest, trace_id, media_type = (as_text(body.get(name)) for name in ("sha256Hash", "traceId", "contentType"))
        if not digest or not trace_id or not media_type:
            raise BadRequest("expected `sha256Hash`, `traceId` and `contentType`")
        length = as_integer(body.get("contentLength"))
        if length is not None and length > settings.MAX_BODY_BYTES:
            raise TooLarge(f"the file has {length} bytes; the limit is {settings.MAX_BODY_BYTES}")
        id = digest.replace("+", "-").replace("/", "_")[:_ID_LENGTH]
        upload: JSONObject = {"id": id, "traceId": trace_id, "contentType": media_type, "digest": digest}
        token = signing.dumps({**upload, "project": project_of(request)}, salt=_SALT)
        url = request.build_absolute_uri(f"/langfuse-media/{token}")
        return answer({"mediaId": id, "uploadUrl": url}, 201)


class MediaStateView(CollectorView):
    def patch(self, request: HttpRequest, id: str) -> HttpResponse:
        """Accept the client's report about its upload."""
        return answer({"mediaId": id})


class UploadView(CollectorView):
    def put(self, request: HttpRequest, token: str) -> HttpResponse:
        """Store a file with the trace that refers to it."""
        try:
            upload = as_object(signing.loads(token, salt=_SALT, max_age=_LIFETIME_S))
        except signing.BadSignature as error:
            raise InvalidUpload("this address is invalid or has expired: request a new one") from error
        content = read_body(request)
        if not hmac.compare_digest(b64encode(sha256(content).digest()).decode(), as_text(upload["digest"])):
            raise BadRequest("the content does not have the digest that was announced")
        body = {name: upload[name] for name in ("id", "traceId", "contentType")}
        with slot():
            segment = media_segment({**body, "data": b64encode(content).decode()})
            arrivals.accept([segment], project=as_text(upload["project"]))
        return HttpResponse(status=200)
