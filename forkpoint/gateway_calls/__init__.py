"""Where in the agent each call of the gateway is made: its step, also across threads and processes, and its lane."""

import os

from forkpoint.capture.import_hook import hook
from forkpoint.gateway_calls import carried_steps, clients
from forkpoint.gateway_run import GATEWAY


def install() -> None:
    """Watch HTTP clients, threads and processes, where the gateway sees the calls of this program or answers them."""
    if not os.environ.get(GATEWAY):
        return
    for name, patch in {**clients.PATCHES, **carried_steps.PATCHES}.items():
        hook.register(name, patch)
