"""Schemas of the cockpit's own REST endpoints and socket messages."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from traces.core.schema import Schema

Role = Literal["sender", "viewer", "debugger", "admin"]


class Health(Schema):
    status: Literal["ok"]
    version: str


class Readiness(Schema):
    """`checks` contains "ok" or an error for each dependency."""

    ready: bool
    checks: dict[str, str]


class LoginRequest(Schema):
    token: str


class Access(Schema):
    """The caller's identity. In embedded mode on loopback, no login is required and every caller is admin."""

    login_required: bool
    name: str
    role: Role | None  # null: not logged in


class TokenRequest(Schema):
    """A token of a person or a program, with its role."""

    name: Annotated[str, Field(min_length=1, max_length=120, pattern=r"\S")]
    role: Role


class TokenView(Schema):
    id: UUID
    name: str
    role: Role
    created_at: datetime
    last_used_at: datetime | None
    secret: str | None  # only in the response that created it


class TokenList(Schema):
    tokens: list[TokenView]


class ProviderSetting(Schema):
    """A model provider. `key` names the variable of its key and whether it is set, never the key."""

    name: str
    protocol: str
    base_url: str
    key: str


class ToolSetting(Schema):
    name: str
    runs: str


class McpServerSetting(Schema):
    """An MCP server behind the gateway, without the query of its address, which may contain a secret."""

    name: str
    url: str


class RetrieverSetting(Schema):
    name: str
    asks: str
    serves: list[str]
    stores: list[str]
    embeddings: dict[str, str]
    variables: dict[str, str]


class HookSetting(Schema):
    name: str
    asks: str
    events: list[str]
    matcher: str
    gate: bool


class TelemetrySetting(Schema):
    name: str
    goes_to: str
    problem: str


class Configuration(Schema):
    """The configuration in effect, without secrets."""

    mode: Literal["embedded", "distributed"]
    home: str
    host: str
    port: int
    # The port of OTLP/gRPC; null if it is off.
    otlp_grpc_port: int | None
    login_required: bool
    sharing: bool
    database: str
    redis: str | None
    artifacts: str
    semantic: bool
    providers: list[ProviderSetting]
    tools: list[ToolSetting]
    mcp_servers: list[McpServerSetting]
    retrievers: list[RetrieverSetting]
    hooks: list[HookSetting]
    telemetry: list[TelemetrySetting]


class DiffTouched(Schema):
    """A diff report has new evidence; the client fetches it again."""

    type: Literal["diff"] = "diff"
    seq: int
    diff: UUID
