"""Clients that disconnect before their response is complete."""

from threading import Event
from typing import Any, Final

# The key of the ASGI scope under which the server sets an event once the client has disconnected.
HANG_UP: Final = "forkpoint.hang_up"


def hang_up_of(request: Any) -> Event:
    """Return the event that is set once the client of a request has disconnected; never set where nothing tells."""
    event = request.META.get("asgi.scope", {}).get(HANG_UP)
    return event if isinstance(event, Event) else Event()
