"""How often an address may do something, counted by all processes together."""

from dataclasses import dataclass

from django.core.cache import cache

from traces.errors import ProblemError


class TooManyRequests(ProblemError):
    """Something was done too often from one address; `wait` is the number of seconds until it may be done again."""

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
        """Count one more; raises `TooManyRequests` with `refusal` where that is too many."""
        key = self._key(address)
        try:
            counted = cache.incr(key)
        except ValueError:  # there is no window, or it has just ended
            cache.add(key, counted := 1, self.seconds)
        if counted > self.limit:
            raise TooManyRequests(refusal, wait=self.seconds)

    def is_full(self, address: str) -> bool:
        """Whether the next count of an address would be refused."""
        counted: int = cache.get(self._key(address), 0)
        return counted >= self.limit

    def _key(self, address: str) -> str:
        return f"{self.name}:{address}"
