"""The exit codes of programs that cannot be run."""

import pytest

from cockpit.cli.errors import Exit
from forkpoint.bootstrap.gateway import CannotRun, Server, exit_code


@pytest.mark.parametrize(
    ("status", "problem", "exit"),
    [
        (401, "auth_required", Exit.AUTHENTICATION),
        (403, "auth_forbidden", Exit.AUTHENTICATION),
        (404, "not_found", Exit.NOT_FOUND),
        (409, "conflict", Exit.ERROR),
        (409, "consent_required", Exit.BAD_INPUT),
        (422, "validation_error", Exit.BAD_INPUT),
        (429, "rate_limited", Exit.UNAVAILABLE),
        (503, "dependency_unavailable", Exit.UNAVAILABLE),
        (502, "", Exit.UNAVAILABLE),
    ],
)
def test_refusals_have_the_exit_codes_of_all_commands(status: int, problem: str, exit: Exit) -> None:
    assert exit_code(status, problem) == exit


def test_unreachable_server_is_named_with_the_reason() -> None:
    with pytest.raises(CannotRun, match=r"^cannot reach http://127\.0\.0\.1:9: Connection refused$"):
        Server("http://127.0.0.1:9", "").open("/api/v1/reruns", {})
