"""Types of live tools: configuration, calls and results."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from replay.live.operator_urls import OperatorUrl
from replay.live.providers.types import ProviderError
from traces.core.json_types import JSONValue
from traces.core.schema import Schema
from traces.core.vocabulary import StepStatus

Name = Annotated[str, StringConstraints(min_length=1)]
# A header or variable, and the server's environment variable that contains its value.
Environment = dict[str, Name]


class HttpTool(Schema):
    """Arguments are sent as JSON or as GET parameters; `headers_env` names variables with secrets."""

    url: OperatorUrl
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: dict[str, str] = {}
    headers_env: Environment = {}


class McpTool(Schema):
    """A tool of an MCP server, which is a command on stdio or a URL.

    `tool` is the tool's name on the server.
    """

    command: Name | None = None
    args: list[str] = []
    env: Environment = {}
    url: OperatorUrl | None = None
    headers_env: Environment = {}
    tool: Name | None = None

    @model_validator(mode="after")
    def _require_one_transport(self) -> "McpTool":
        if (self.command is None) == (self.url is None):
            raise ValueError("give either `command` (a server on stdio) or `url` (streamable HTTP)")
        return self


class ToolEntry(Schema):
    """One entry of the configuration: exactly one way to run the tool."""

    http: HttpTool | None = None
    mcp: McpTool | None = None
    # Entry point.
    python: Name | None = None
    idempotent: bool = False
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 30.0

    @model_validator(mode="after")
    def _require_one_executor(self) -> "ToolEntry":
        if sum(executor is not None for executor in (self.http, self.mcp, self.python)) != 1:
            raise ValueError("give exactly one of `http`, `mcp` and `python`")
        return self


@dataclass(frozen=True, kw_only=True)
class Tool:
    name: str
    entry: ToolEntry

    @property
    def place(self) -> str:
        """Describe what runs the tool, without secrets."""
        entry = self.entry
        if entry.http is not None:
            return f"http {entry.http.method} {entry.http.url.host}"
        if entry.mcp is not None:
            return f"mcp {entry.mcp.command or (entry.mcp.url and entry.mcp.url.host)}"
        return f"python {entry.python}"


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """`replay` is the session's id, so that the tool's code can recognize a replay.

    `is_cancelled` is polled while the tool runs; if it returns True, the call raises `timeouts.GivenUp`.
    """

    arguments: JSONValue
    replay: str
    is_cancelled: Callable[[], bool] = lambda: False


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    output: JSONValue
    status: StepStatus = field(default=StepStatus.OK)


class ToolFailure(ProviderError):
    """A tool call without an answer. `may_have_run`: the tool may have run anyway."""

    def __init__(
        self,
        detail: str,
        *,
        code: str,
        retryable: bool,
        may_have_run: bool,
        retry_after_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(detail, code=code, retryable=retryable, retry_after_s=retry_after_s, status=status)
        self.may_have_run = may_have_run
