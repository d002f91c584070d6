"""Configuration of hooks and telemetry targets, by the operator only."""

import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from pydantic import Field, field_validator, model_validator

from replay.core.hooks import Decision
from replay.hooks.registry import compile_matcher
from replay.live.operator_entries import EntryT, parse_entry
from replay.live.operator_urls import OperatorUrl
from replay.live.tools.types import Environment, Name
from traces.core.json_types import JSONValue
from traces.core.schema import Schema
from traces.core.vocabulary import HookEvent

GROUP: Final = "forkpoint.hooks"
TELEMETRY_EVENTS: Final = frozenset({*HookEvent, "live_call", "events_dropped"})


class HttpPlace(Schema):
    """An endpoint that receives JSON; `headers_env` names variables with secrets."""

    url: OperatorUrl
    headers: dict[str, str] = {}
    headers_env: Environment = {}

    @property
    def host(self) -> str:
        return self.url.host or ""


class HookEntry(Schema):
    """Exactly one of `python` (an entry point), `http` and `answer` (always the same decision)."""

    events: list[HookEvent] = []
    matcher: str = ""
    gate: bool = False
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    python: Name | None = None
    settings: dict[str, JSONValue] = {}
    http: HttpPlace | None = None
    answer: Annotated[Decision, Field(discriminator="action")] | None = None

    @field_validator("matcher")
    @classmethod
    def _compiles(cls, value: str) -> str:
        compile_matcher(value)
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> "HookEntry":
        if sum(kind is not None for kind in (self.python, self.http, self.answer)) != 1:
            raise ValueError("give exactly one of `python`, `http` and `answer`")
        if self.settings and self.python is None:
            raise ValueError("`settings` are only valid for a `python` hook")
        return self

    @property
    def place(self) -> str:
        """Describe what the hook calls."""
        if self.http is not None:
            return f"http POST {self.http.host}"
        return f"python {self.python}" if self.python is not None else f"always {self.answer and self.answer.action}"


class LangfusePlace(Schema):
    """A Langfuse project.

    The secret key remains in the environment; `replays`: export every finished replay.
    """

    base_url: OperatorUrl
    public_key: Name | None = None
    public_key_env: Name | None = None
    secret_key_env: Name = "LANGFUSE_SECRET_KEY"
    replays: bool = True

    @model_validator(mode="after")
    def _one_key(self) -> "LangfusePlace":
        if (self.public_key is None) == (self.public_key_env is None):
            raise ValueError("give either `public_key` or `public_key_env`")
        return self

    def keys(self) -> tuple[str, str] | None:
        """Return the public and the secret key; None if one is not set."""
        public = self.public_key or os.environ.get(self.public_key_env or "", "")
        secret = os.environ.get(self.secret_key_env, "")
        return (public, secret) if public and secret else None


class TelemetryEntry(Schema):
    """Exactly one of `http`, `jsonl` (a path; `{session_id}` is replaced) and `langfuse`."""

    http: HttpPlace | None = None
    jsonl: Name | None = None
    langfuse: LangfusePlace | None = None
    events: list[str] = []
    batch: Annotated[int, Field(ge=1, le=1000)] = 1
    queue: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 10.0
    retries: Annotated[int, Field(ge=0, le=20)] = 5

    @field_validator("events")
    @classmethod
    def _check_events(cls, value: list[str]) -> list[str]:
        if unknown := sorted(set(value) - TELEMETRY_EVENTS):
            raise ValueError(f"“{unknown[0]}” is not an event: use some of {', '.join(sorted(TELEMETRY_EVENTS))}")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> "TelemetryEntry":
        if sum(kind is not None for kind in (self.http, self.jsonl, self.langfuse)) != 1:
            raise ValueError("give exactly one of `http`, `jsonl` and `langfuse`")
        return self

    @property
    def place(self) -> str:
        """Describe the destination."""
        if self.http is not None:
            return f"http POST {self.http.host}"
        return (
            f"file {self.jsonl}" if self.jsonl is not None else f"langfuse {self.langfuse and self.langfuse.base_url}"
        )


def hooks() -> dict[str, HookEntry]:
    """Return the hooks by name, in configuration order; raises `ImproperlyConfigured`."""
    entries = _entries(HookEntry, "FORKPOINT_HOOKS", settings.HOOKS)
    for name, entry in entries.items():
        if entry.python is not None and entry.python not in callables():
            detail = f"no installed package offers it in the entry point group `{GROUP}`"
            raise ImproperlyConfigured(f"FORKPOINT_HOOKS.{name}.python is “{entry.python}”: {detail}.")
    return entries


def targets() -> dict[str, TelemetryEntry]:
    """Return the telemetry targets by name; raises `ImproperlyConfigured`."""
    return _entries(TelemetryEntry, "FORKPOINT_TELEMETRY", settings.TELEMETRY)


def langfuse_targets() -> dict[str, LangfusePlace]:
    return {name: entry.langfuse for name, entry in targets().items() if entry.langfuse is not None}


@cache
def callables() -> dict[str, EntryPoint]:
    """Return the entry points of installed packages, which are loaded at their first call."""
    return {point.name: point for point in entry_points(group=GROUP)}


def missing_secrets(names: Mapping[str, str]) -> list[str]:
    """Return the environment variables that are not set."""
    return [variable for variable in names.values() if variable not in os.environ]


def problem(entry: TelemetryEntry) -> str:
    """Return why nothing can be sent, as far as the environment shows; empty if all variables are set."""
    if entry.langfuse is not None:
        return "" if entry.langfuse.keys() is not None else "its keys are not set in the environment"
    return missing_variable(entry.http)


def missing_variable(http: HttpPlace | None) -> str:
    missing = missing_secrets(http.headers_env) if http is not None else []
    return f"the environment variable {missing[0]} is not set" if missing else ""


def _entries(kind: type[EntryT], variable: str, values: Mapping[str, Any]) -> dict[str, EntryT]:
    return {name: parse_entry(kind, f"{variable}.{name}", entry) for name, entry in values.items()}
