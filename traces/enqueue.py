"""Giving work to the workers. The queue is a hint: what it loses, or never got, is queued again from the database."""

from typing import Any
from uuid import UUID

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

logger = structlog.get_logger("queue")


def put(task: str, *ids: UUID | str) -> bool:
    """Queue a task by its name; false when the broker is away, which costs a few seconds and nothing else."""
    try:
        current_app.send_task(task, [str(id) for id in ids])
    except OperationalError as error:
        logger.warning("broker_away", task=task, error=str(error))
        return False
    return True


def length() -> int:
    """How many messages nobody has taken yet; raises kombu's `OperationalError`."""
    with current_app.connection_for_read() as connection:
        name = current_app.conf.task_default_queue
        channel: Any = connection.default_channel  # its stubs know no declarations
        return int(channel.queue_declare(queue=name).message_count)
