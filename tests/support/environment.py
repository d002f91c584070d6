"""The environment of a test run, set before Django reads its settings: a home of its own, and the chosen shape."""

import os
from collections.abc import Generator

import pytest

from tests.services import postgres, redis
from tests.services.processes import scratch_folder

# What a developer's shell may hold and a test must not depend on.
_FOREIGN = ("DATABASE_URL", "REDIS_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_ENDPOINT_URL")
_KEPT = ("FORKPOINT_SAMPLE_DATA",)  # a folder of recordings that the importers are tried on


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shape", choices=("embedded", "distributed"), default="embedded", help="what the tests run on")
    parser.addoption("--semantic", action="store_true", help="the semantic extra is installed: test with it")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Runs before pytest-django imports the settings."""
    for name in list(os.environ):
        if name in _FOREIGN or (name.startswith("FORKPOINT_") and name not in _KEPT):
            del os.environ[name]
    os.environ["FORKPOINT_HOME"] = str(scratch_folder("fp-home-"))
    if early_config.known_args_namespace.shape == "distributed":
        os.environ["DATABASE_URL"] = postgres.database_url()
        os.environ["REDIS_URL"] = redis.redis_url()
    return (yield)
