"""The command line under settings that cannot work: it says which, and what is wrong with them."""

from pathlib import Path

import pytest

from tests.support.command_line import Shell

pytestmark = pytest.mark.own_store


def test_check_says_which_dependency_cannot_be_reached(tmp_path: Path) -> None:
    nowhere = {"DATABASE_URL": "postgres://me:hidden@127.0.0.1:9/x", "REDIS_URL": "redis://127.0.0.1:9/0"}
    bucket = {"FORKPOINT_ARTIFACTS": "s3://bucket/fp", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    keys = {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "hidden"}
    said = Shell(tmp_path)("check", "--json", **nowhere, **bucket, **keys)
    assert said.code == 6
    assert said.json["artifacts"] == "s3://bucket/fp"
    assert "does not answer" in said.json["checks"]["storage"]
    assert "refused" in said.json["checks"]["database"]
    assert "refused" in said.json["checks"]["broker"]
    assert said.json["login_required"]
    assert "hidden" not in said.out


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"FORKPOINT_PORT": "eighty"}, "FORKPOINT_PORT"),
        ({"FORKPOINT_HOME": "/dev/null/home"}, "FORKPOINT_HOME"),
        ({"FORKPOINT_PROVIDERS": "{"}, "FORKPOINT_PROVIDERS"),
        ({"FORKPOINT_PROVIDERS": '{"mine": {"protocol": "grpc"}}'}, "protocol"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, environment: dict[str, str], named: str) -> None:
    said = Shell(tmp_path)("check", **environment)
    assert said.code == 2
    assert named in said.err
