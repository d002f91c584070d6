"""Random texts with the word frequencies of a language: a few words are everywhere, most are rare."""

import random
from itertools import accumulate, product
from typing import Final

APPS: Final = (
    "support-desk",
    "refund-agent",
    "code-review",
    "travel-planner",
    "billing-bot",
    "research",
    "sales-notes",
    "onboarding",
    "search-helper",
    "translator",
    "inventory",
    "night-batch",
)
ENVIRONMENTS: Final = ("production", "staging", "dev")
MODELS: Final = (
    ("openai", "gpt-4o-mini"),
    ("openai", "gpt-4o"),
    ("anthropic", "claude-sonnet-4"),
    ("google", "gemini-2.5-flash"),
    ("mistral", "mistral-small"),
)
TOOLS: Final = (
    "search_orders",
    "get_order",
    "send_mail",
    "lookup_customer",
    "create_refund",
    "read_file",
    "run_tests",
    "web_search",
    "convert_currency",
    "book_flight",
    "query_stock",
    "post_message",
)
TAGS: Final = tuple(f"{kind}-{number}" for kind in ("team", "release", "cohort", "tier") for number in range(10))
WORDS: Final = 4_000
_ONSETS: Final = ("b", "br", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v")
_VOWELS: Final = ("a", "e", "i", "o", "u", "ai", "ou")


class Language:
    """A vocabulary whose n-th word occurs 1/n times as often as the first, as in Zipf's law."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        syllables = ["".join(pair) for pair in product(_ONSETS, _VOWELS)]
        words: dict[str, None] = {}
        while len(words) < WORDS:
            words["".join(self.random.choices(syllables, k=self.random.randint(2, 3)))] = None
        self.words = list(words)
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(WORDS)))

    def text(self, least: int, most: int) -> str:
        count = self.random.randint(least, most)
        return " ".join(self.random.choices(self.words, cum_weights=self._weights, k=count))

    def pick(self, values: tuple[str, ...]) -> str:
        """Return one of the values; earlier ones are more frequent."""
        weights = [1 / (rank + 2) for rank in range(len(values))]
        return self.random.choices(values, weights)[0]
