"""Task queue. It is only a hint: lost or unsent tasks are queued again from the database."""

from typing import Any
from uuid import UUID

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

logger = structlog.get_logger("queue")


def send(task: str, *ids: UUID | str) -> bool:
    """Queue a task by name. Return False if the broker is unavailable; the task then runs a few seconds later."""
    try:
        current_app.send_task(task, [str(id) for id in ids])
    except OperationalError as error:
        logger.warning("broker_away", task=task, error=str(error))
        return False
    return True


def length() -> int:
    """Return the number of messages in the queue; raise kombu's `OperationalError`."""
    with current_app.connection_for_read() as connection:
        name = current_app.conf.task_default_queue
        # Any, because kombu's stubs declare no queue methods.
        channel: Any = connection.default_channel
        return int(channel.queue_declare(queue=name).message_count)
