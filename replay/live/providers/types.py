"""Types of live model calls, independent of the provider's protocol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from traces.core.json_types import JSONObject

Protocol = Literal["openai", "anthropic", "gemini", "ollama"]
# Where the servers of a protocol have that of OpenAI, below their address.
_OPENAI_PATHS: Final[Mapping[Protocol, str]] = {"openai": "", "gemini": "/v1beta/openai", "ollama": "/v1"}
# The header of the key in a protocol, and what is before the key in it.
_BEARER: Final = ("Authorization", "Bearer ")
_KEY_HEADERS: Final = {"anthropic": ("x-api-key", ""), "gemini": ("x-goog-api-key", "")}
OnText = Callable[[str], None]
IsCancelled = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A configured model provider. The key remains in the environment and is read at each call.

    `operator`: the operator configured `base_url`, so it may be a private address.
    """

    name: str
    protocol: Protocol
    base_url: str
    api_key_env: str = ""
    models: tuple[str, ...] = ()
    local: bool = False
    description: str = ""
    operator: bool = True
    timeout_s: float = 120.0

    @property
    def openai_url(self) -> str:
        """The base URL of OpenAI's protocol; empty if the provider does not speak it."""
        path = _OPENAI_PATHS.get(self.protocol)
        return "" if path is None else self.base_url + path


def key_header(protocol: str) -> tuple[str, str]:
    """Return the name of the header that has the key in a protocol, and what is before the key in it."""
    return _KEY_HEADERS.get(protocol, _BEARER)


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """`input` is a model step's input: messages, and optional tools, parameters and response_format.

    `is_response`: a provider with OpenAI's protocol is asked through its Responses API.
    """

    provider: str
    model: str
    input: JSONObject
    is_response: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """`output` is a model step's output. Counts are None if the provider did not report them.

    `tokens_in` counts all input tokens, including cached ones; `left_out` names the parameters of the call that the
    protocol cannot express.
    """

    output: JSONObject
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    cost_usd: Decimal | None
    duration_ms: float
    served_model: str
    left_out: tuple[str, ...] = ()


class Cancelled(Exception):
    """A live model call was cancelled by its caller."""


class ProviderError(Exception):
    """A live call failed; `retryable`: the same call may succeed later."""

    def __init__(
        self, detail: str, *, code: str, retryable: bool, retry_after_s: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Token counts of the provider; None if it did not report them."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None


@dataclass(frozen=True, kw_only=True)
class StreamResult:
    """Result of one stream."""

    message: JSONObject
    finish_reason: str
    usage: Usage
    served_model: str
