"""What an agent must not have: the token of its user, and the keys of the server. It gets those of its session only."""

import ctypes
import sys
from collections.abc import Mapping
from typing import Any, Final

_TOKEN: Final = "FORKPOINT_TOKEN"
_SECRETS: Final = frozenset({_TOKEN, "FORKPOINT_SECRET_KEY", "FORKPOINT_REDACTION_KEY"})
# Of `prctl`.
_SET_DUMPABLE: Final = 4


def session_environment(environment: Mapping[str, str], session: Any) -> dict[str, str]:
    """Return an environment whose token is the credential of an open session, and that has no other secret.

    The credential is the part of the gateway's address that names the session. It is accepted for that session only.
    """
    return {**without_secrets(environment), _TOKEN: session["path"].rpartition("/")[2]}


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the token of the user and the keys of a server."""
    return {name: value for name, value in environment.items() if name not in _SECRETS}


def hide_environment() -> None:
    """Hide the environment and memory of this process, which has the token, from other processes of its user.

    On Linux. Root sees them all the same.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
