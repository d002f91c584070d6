"""Task queue. It is only a hint: lost or unsent tasks are queued again from the database."""

import time
from typing import Any, Final
from uuid import UUID

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

logger = structlog.get_logger("queue")
# The first may find a connection that the broker has closed.
_ATTEMPTS: Final = 2
# An attempt that takes longer fails because the broker is silent, and so will the next ones for a while.
_SLOW_S: Final = 1.0
_REST_S: Final = 10.0
_rest = {"end": 0.0}


def send(task: str, *ids: UUID | str) -> bool:
    """Queue a task by name. Return False if the broker is unavailable; the task then runs a few seconds later.

    While the broker accepts connections and stays silent, only one caller in a while waits for it.
    """
    for attempt in range(_ATTEMPTS):
        start = time.monotonic()
        if start < _rest["end"]:
            break
        try:
            current_app.send_task(task, [str(id) for id in ids], retry=False)
        except OperationalError as error:
            if time.monotonic() - start > _SLOW_S:
                _rest["end"] = time.monotonic() + _REST_S
            elif not attempt:
                continue
            logger.warning("broker_away", task=task, error=str(error))
        else:
            return True
    return False


def length() -> int:
    """Return the number of messages in the queue; raise kombu's `OperationalError`."""
    with current_app.connection_for_read() as connection:
        name = current_app.conf.task_default_queue
        # Any, because kombu's stubs declare no queue methods.
        channel: Any = connection.default_channel
        try:
            return int(channel.queue_declare(queue=name).message_count)
        except (*connection.connection_errors, *connection.channel_errors) as error:
            raise OperationalError(str(error)) from error
