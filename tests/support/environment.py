"""Environment of a test run, set before Django reads its settings: an own home and the chosen shape."""

import gc
import os
from collections.abc import Generator
from pathlib import Path

import certifi
import pytest

from tests.services import postgres, redis
from tests.services.processes import scratch_folder

# Imports create objects that stay: a search for garbage among them takes a fifth of the time to collect all tests.
gc.disable()
# A developer's shell may set these; tests must not depend on them.
_REMOVED_VARIABLES = (
    "DATABASE_URL",
    "REDIS_URL",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "AWS_ENDPOINT_URL",
)
# Folder of recordings for the importer tests.
_PRESERVED_VARIABLES = ("FORKPOINT_SAMPLE_DATA",)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shape", choices=("embedded", "distributed"), default="embedded", help="deployment that the tests run on"
    )
    parser.addoption("--divide", action="store_true", help="run each test marked `divided` in one of the shapes")
    parser.addoption("--semantic", action="store_true", help="include the tests of the semantic extra")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Set the environment before pytest-django imports the settings."""
    for name in list(os.environ):
        if name in _REMOVED_VARIABLES or (name.startswith("FORKPOINT_") and name not in _PRESERVED_VARIABLES):
            del os.environ[name]
    os.environ["SSL_CERT_FILE"] = str(_one_authority())
    os.environ["FORKPOINT_HOME"] = str(scratch_folder("fp-home-"))
    if early_config.known_args_namespace.shape == "distributed":
        os.environ["DATABASE_URL"] = postgres.database_url()
        os.environ["REDIS_URL"] = redis.redis_url()
    return (yield)


def _one_authority() -> Path:
    """Write one certificate authority to a file: every HTTP client would read all 140, and the tests need none."""
    end = "-----END CERTIFICATE-----\n"
    file = scratch_folder("fp-tls-") / "authority.pem"
    file.write_text(Path(certifi.where()).read_text().partition(end)[0] + end)
    return file
