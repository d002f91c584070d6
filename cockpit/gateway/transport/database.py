"""Connections to the database on the threads of the gateway."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import close_old_connections


@contextmanager
def connection() -> Iterator[None]:
    """Use a connection that is still good, and leave none that is not."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()
