"""The permission to delete sealed runs and artifacts, for one transaction."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from traces.core.ids import new_id
from traces.models import RetentionPass


@contextmanager
def retention_pass() -> Iterator[None]:
    """Open a transaction that may delete sealed runs and artifacts; the triggers allow it while the pass exists."""
    with transaction.atomic():
        row = RetentionPass.objects.create(run_id=new_id())
        yield
        row.delete()
