"""Every exception becomes one answer that says what, where and whether trying again helps."""

import errno
from uuid import uuid4

import pytest
import redis
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import Http404
from pydantic import ValidationError

from cockpit.http.errors import describe, problem_page
from replay.sessions.schemas import ReplayRequest
from traces.http.bodies import InvalidBody, parse_body
from traces.sharing.schemas import ShareRequest


class _Refused(Exception):
    code = "override_before_fork"
    status = 409

    def __init__(self, where: str) -> None:
        super().__init__("step 3 lies before the fork")
        self.where = where


def test_own_exceptions_keep_code_and_detail() -> None:
    description = describe(_Refused("/overrides/0"))
    assert description.code == "override_before_fork"
    assert (description.status, description.location) == (409, "/overrides/0")
    assert description.detail == "step 3 lies before the fork"


def test_a_code_outside_the_contract_is_not_passed_on() -> None:
    error = _Refused("")
    error.code = "made_up"
    assert describe(error).code == "internal_error"


def test_a_body_that_does_not_fit_is_the_callers_error() -> None:
    with pytest.raises(InvalidBody) as caught:
        parse_body(ReplayRequest, {"run": "last", "policy": {"max_turns": "many"}})
    error = describe(caught.value)
    assert (error.code, error.status, error.location) == ("validation_error", 422, "/policy/max_turns")


def test_a_pointer_escapes_what_json_pointers_escape() -> None:
    with pytest.raises(InvalidBody) as caught:
        parse_body(ShareRequest, {"a/b~c": 1})
    assert describe(caught.value).location == "/a~1b~0c"


def test_what_does_not_fit_inside_is_ours() -> None:
    with pytest.raises(ValidationError) as caught:
        ShareRequest.model_validate({"max_views": 0})
    assert describe(caught.value).code == "internal_error"


@pytest.mark.parametrize(
    ("error", "code", "status", "retryable"),
    [
        (Http404("no such run"), "not_found", 404, False),
        (RequestDataTooBig(), "payload_too_large", 413, False),
        (OperationalError("gone"), "dependency_unavailable", 503, True),
        (OSError(errno.ENOSPC, "No space left on device"), "dependency_unavailable", 503, True),
        (OSError(errno.EMFILE, "Too many open files"), "dependency_unavailable", 503, True),
        (OSError(errno.EIO, "secret inside"), "internal_error", 500, False),
        (redis.ConnectionError("gone"), "dependency_unavailable", 503, True),
        (redis.TimeoutError("slow"), "dependency_unavailable", 503, True),
        (redis.OutOfMemoryError("full"), "dependency_unavailable", 503, True),
        (KeyError("secret inside"), "internal_error", 500, False),
    ],
)
def test_known_exceptions_have_their_code(error: Exception, code: str, status: int, retryable: bool) -> None:
    description = describe(error)
    assert (description.code, description.status, description.retryable) == (code, status, retryable)


@pytest.mark.parametrize(("error", "seconds"), [(OperationalError("gone"), "1"), (Http404(), None)])
def test_what_may_succeed_later_names_the_time(error: Exception, seconds: str | None) -> None:
    """Senders of events keep what they get 503 for; some ask again only after this header."""
    response = problem_page(None, describe(error))
    assert response.headers.get("Retry-After") == seconds


def test_an_unexpected_error_tells_nothing_of_the_inside() -> None:
    secret = str(uuid4())
    assert secret not in describe(RuntimeError(secret)).detail
