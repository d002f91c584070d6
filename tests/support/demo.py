"""The demo without a server beside it."""

from cockpit.demo.agent import loading
from replay.models import ReplaySession


def load_demo() -> ReplaySession | None:
    """Import the recordings and start the fork of the failed run, each only once; return the fork if both exist."""
    loading.put_recordings()
    return loading.put_fork()
