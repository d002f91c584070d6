"""The command line with invalid settings: errors name the setting and the problem."""

from pathlib import Path

import pytest

from tests.support.command_line import Shell

pytestmark = pytest.mark.own_store


def test_check_reports_unreachable_dependencies(tmp_path: Path) -> None:
    nowhere = {"DATABASE_URL": "postgres://me:hidden@127.0.0.1:9/x", "REDIS_URL": "redis://127.0.0.1:9/0"}
    bucket = {"FORKPOINT_ARTIFACTS": "s3://bucket/fp", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    keys = {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "hidden"}
    result = Shell(tmp_path)("check", "--json", **nowhere, **bucket, **keys)
    assert result.code == 6
    assert result.json["artifacts"] == "s3://bucket/fp"
    assert "does not answer" in result.json["checks"]["storage"]
    assert "refused" in result.json["checks"]["database"]
    assert "refused" in result.json["checks"]["broker"]
    assert result.json["login_required"]
    assert "hidden" not in result.out


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"FORKPOINT_PORT": "eighty"}, "FORKPOINT_PORT"),
        ({"FORKPOINT_OTLP_GRPC_PORT": "on"}, "FORKPOINT_OTLP_GRPC_PORT"),
        ({"FORKPOINT_OTLP_GRPC_PORT": "8700"}, "FORKPOINT_OTLP_GRPC_PORT"),
        ({"FORKPOINT_HOME": "/dev/null/home"}, "FORKPOINT_HOME"),
        ({"FORKPOINT_PROVIDERS": "{"}, "FORKPOINT_PROVIDERS"),
        ({"FORKPOINT_PROVIDERS": '{"mine": {"protocol": "grpc"}}'}, "protocol"),
    ],
)
def test_invalid_setting_is_named(tmp_path: Path, environment: dict[str, str], name: str) -> None:
    result = Shell(tmp_path)("check", **environment)
    assert result.code == 2
    assert name in result.err


def test_check_names_the_port_of_grpc(tmp_path: Path) -> None:
    assert Shell(tmp_path)("check", "--json").json["otlp_grpc_port"] is None
    result = Shell(tmp_path)("check", FORKPOINT_OTLP_GRPC_PORT="4317")
    assert "4317" in result.out
