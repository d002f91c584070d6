"""Options with wrong values, refused before anything runs."""

from pathlib import Path

import pytest

from cockpit.cli.client import connect
from cockpit.cli.commands.golden import replays
from cockpit.cli.commands.searches.calibrate import _selected_indexes
from cockpit.cli.errors import Exit, Failure, failure_from_problem
from forkpoint.confinement.limits import Confinement

PROPOSAL = {"recommended": True}


def test_proposals_are_numbered_as_they_are_listed() -> None:
    assert _selected_indexes("1,2", [PROPOSAL, PROPOSAL]) == [0, 1]
    with pytest.raises(Failure, match=r"there is no proposal 7: the comparison has 1 proposal$") as failure:
        _selected_indexes("1,7", [PROPOSAL])
    assert failure.value.exit == Exit.BAD_INPUT


def test_unknown_client_is_refused() -> None:
    settings = replays.Settings(
        words=["agent"],
        client="claude",
        confinement=Confinement(),
        tools_to_run=[],
        is_accepting=False,
        junit=None,
        reports=None,
        json=False,
    )
    with pytest.raises(Failure, match="“claude” is not a client: choose codex or other") as failure:
        replays.run([Path("runs")], settings, url=None, token=None)
    assert failure.value.exit == Exit.BAD_INPUT


def test_missing_token_is_answered_with_the_option() -> None:
    problem = {"code": "auth_required", "detail": "Sign in, or send a token as `Authorization: Bearer …`."}
    failure = failure_from_problem(problem, 401)
    assert failure.exit == Exit.AUTHENTICATION
    assert str(failure) == "the server needs a valid token: name one with --token or FORKPOINT_TOKEN"


def test_numbers_that_json_lacks_are_bad_input() -> None:
    with connect("http://127.0.0.1:9", None) as api, pytest.raises(Failure, match="cannot be sent") as failure:
        api.post("/runs/r1/judgements", {"kind": "score", "value": float("nan")})
    assert failure.value.exit == Exit.BAD_INPUT
