"""Rate limits per client address, counted across all processes."""

from dataclasses import dataclass

from django.core.cache import cache

from traces.errors import ProblemError


class TooManyRequests(ProblemError):
    """Too many requests from one address; `wait` is the number of seconds until the next one is allowed."""

    code = "rate_limited"
    status = 429
    retryable = True

    def __init__(self, detail: str, *, wait: int) -> None:
        super().__init__(detail)
        self.wait = wait


@dataclass(frozen=True, kw_only=True)
class Window:
    """A fixed window: at most `limit` times in `seconds`."""

    name: str
    limit: int
    seconds: int

    def count(self, address: str, refusal: str) -> None:
        """Count one request; raise `TooManyRequests` with the message `refusal` above the limit."""
        key = self._key(address)
        try:
            count = cache.incr(key)
        except ValueError:  # there is no window, or it has just ended
            cache.add(key, count := 1, self.seconds)
        if count > self.limit:
            raise TooManyRequests(refusal, wait=self.seconds)

    def is_full(self, address: str) -> bool:
        """True if the next request of an address would be refused."""
        count: int = cache.get(self._key(address), 0)
        return count >= self.limit

    def _key(self, address: str) -> str:
        return f"{self.name}:{address}"
