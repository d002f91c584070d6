"""`migrate`, which processes that start at once run one after the other."""

from typing import Any

from django.core.management.commands import migrate
from django.db import connections


class Command(migrate.Command):
    """Django's command. Two that create the same tables at once would fail."""

    def handle(self, *args: Any, **options: Any) -> None:
        # Any, because the lock is that of our own backends.
        database: Any = connections[options["database"]]
        with database.migration_lock():
            super().handle(*args, **options)
