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
        if self._increment(self._key(address)) > self.limit:
            raise TooManyRequests(refusal, wait=self.seconds)

    def is_full(self, address: str) -> bool:
        """True if the next request of an address would be refused."""
        count: int = cache.get(self._key(address), 0)
        return count >= self.limit

    def _increment(self, key: str) -> int:
        try:
            count = cache.incr(key)
        except ValueError:  # there is no window, or it has just ended
            # Several requests may begin it at once: one adds it, all are counted.
            cache.add(key, 0, self.seconds)
            count = cache.incr(key)
        if count == 1:
            # Redis begins a window without an end if the old one ended after the cache had looked for it.
            cache.touch(key, self.seconds)
        return count

    def _key(self, address: str) -> str:
        return f"{self.name}:{address}"
