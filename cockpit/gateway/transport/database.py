"""Connections to the database on the threads of the gateway."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections


@contextmanager
def connection() -> Iterator[None]:
    """Use a connection that is still good, and leave none that is not.

    Django's own function looks at all databases, which takes as long as a statement; there is only one.
    """
    own_connection = connections[DEFAULT_DB_ALIAS]
    own_connection.close_if_unusable_or_obsolete()
    try:
        yield
    finally:
        own_connection.close_if_unusable_or_obsolete()
