"""What an agent must not get from the process that starts it."""

import subprocess
import sys

import pytest

from forkpoint.confinement.credentials import session_environment

_IS_HIDDEN = """
import ctypes
from forkpoint.confinement.credentials import hide_environment
hide_environment()
# PR_GET_DUMPABLE
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


def test_agent_gets_the_credential_of_its_session() -> None:
    environment = {
        "FORKPOINT_TOKEN": "fp_user",
        "FORKPOINT_SECRET_KEY": "s",
        "FORKPOINT_REDACTION_KEY": "r",
        "FORKPOINT_URL": "http://127.0.0.1:1",
        "OPENAI_API_KEY": "sk-1",
    }
    assert session_environment(environment, {"path": "/gateway/abc.def"}) == {
        "FORKPOINT_TOKEN": "abc.def",
        "FORKPOINT_URL": "http://127.0.0.1:1",
        "OPENAI_API_KEY": "sk-1",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="others show no environment that could be hidden")
def test_environment_of_the_parent_is_hidden() -> None:
    result = subprocess.run([sys.executable, "-c", _IS_HIDDEN], capture_output=True, text=True, check=True)
    assert result.stdout == "0\n"
