"""The queue in Redis, whose workers survive what is no task: another program may use the same Redis."""

from queue import Empty
from typing import Any

import structlog
from kombu.transport import redis

log = structlog.get_logger("queue")


class _Channel(redis.Channel):
    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]  # not in the stubs
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # The message is removed from Redis. Celery would end the worker.
            log.error("message_dropped", error=f"{type(error).__name__}: {error}"[:200])
            raise Empty from error


class Transport(redis.Transport):
    Channel = _Channel
