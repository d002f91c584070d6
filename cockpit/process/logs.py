"""Structured logs on standard error: JSON for machines, lines for a terminal."""

import logging
import sys
import traceback
from http import HTTPStatus
from types import TracebackType
from typing import Any

import structlog

_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


_OURS = ("cockpit", "diffing", "replay", "traces")
# Errors of the system; those that libraries derive from them may quote an address with a key in it.
_SYSTEM = ("builtins", "socket", "ssl")
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


def _stack(exc_info: _ExcInfo) -> str:
    """Format the stack of an exception and its causes, without values.

    Messages of foreign exceptions quote data: a database its rows, a parser its text. Our own messages, and those of
    the operating system, do not.
    """
    lines: list[str] = []
    error: BaseException | None = exc_info[1]
    while error is not None:
        kind = type(error)
        name = f"{kind.__module__}.{kind.__qualname__}"
        is_system_error = isinstance(error, OSError) and kind.__module__ in _SYSTEM
        has_own_message = is_system_error or kind.__module__.partition(".")[0] in _OURS
        lines = [
            *traceback.format_tb(error.__traceback__),
            f"{name}: {error}\n" if has_own_message else f"{name}\n",
            *lines,
        ]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "".join(lines).rstrip()


def format_exception(logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Structlog processor: replace `exc_info` by `exception`."""
    exc_info = event.pop("exc_info", None)
    if isinstance(exc_info, BaseException):
        exc_info = (type(exc_info), exc_info, exc_info.__traceback__)
    elif exc_info and not isinstance(exc_info, tuple):
        exc_info = sys.exc_info()
    if exc_info and exc_info[1] is not None:
        event["exception"] = _stack(exc_info)
    return event


def configure() -> None:
    """Send structlog's events through the standard library, where handlers and levels are set."""
    structlog.configure(
        processors=[
            *_PROCESSORS,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _is_failure(record: logging.LogRecord) -> bool:
    """Return whether Django logs a response that is a failure of the server: 503 asks the client to send again."""
    return getattr(record, "status_code", None) != HTTPStatus.SERVICE_UNAVAILABLE


def config(level: str) -> dict[str, Any]:
    """The LOGGING setting."""
    terminal = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _PROCESSORS,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, format_exception, renderer],
            }
        },
        "filters": {"failures": {"()": "django.utils.log.CallbackFilter", "callback": _is_failure}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        # Libraries log requests and responses at their lower levels, and these are payloads.
        "root": {"handlers": ["stderr"], "level": "ERROR" if level == "ERROR" else "WARNING"},
        "loggers": {
            **{name: {"level": level} for name in _OURS},
            # A refused request is an answer, not an event of the server.
            "django.request": {"level": "ERROR", "filters": ["failures"]},
            "django.security.DisallowedHost": {"level": "CRITICAL"},
            "kombu": {"level": "ERROR"},
        },
    }
