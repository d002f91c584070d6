"""What tests of recorded data share."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """An empty SQLite database."""
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection
