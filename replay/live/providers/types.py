"""What a live model call takes and gives, whatever the provider's protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from traces.core.json_types import JSONObject

Protocol = Literal["openai", "anthropic"]
OnText = Callable[[str], None]
IsCancelled = Callable[[], bool]


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A configured model provider. The key stays in the environment and is read at each call.

    `operator` says that the operator wrote `base_url` down, which is what allows a private address.
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


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """`input` is a model step's input: messages, and tools, parameters and response_format where given."""

    provider: str
    model: str
    input: JSONObject


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """`output` is a model step's output. Counts are None when the provider did not say.

    `tokens_in` counts all input tokens, the cached ones among them; `left_out` names the parameters of the
    call that the protocol has no place for.
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
    """A live model call was given up because its caller asked for that."""


class ProviderError(Exception):
    """A live model call failed; `retryable` says whether the same call may succeed later."""

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
    """Tokens as the provider counted them; None where it did not say."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """What a protocol made of one stream."""

    message: JSONObject
    finish_reason: str
    usage: Usage
    served_model: str
