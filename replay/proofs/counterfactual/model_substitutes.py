"""Models that answer in place of the recorded ones. Pure."""

import re
from dataclasses import dataclass
from typing import Final

# gpt-5 may be served as gpt-5-2025-08-07: the same model, by the name of its version.
_VERSION: Final = re.compile(r"([-@:]v?\d[\d.-]*|[-:@]latest)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A model by its provider and its name; empty: not known."""

    provider: str
    model: str

    @property
    def title(self) -> str:
        return f"{self.model} of {self.provider}" if self.provider else self.model


def replaced(asked: Served, answered: Served) -> str:
    """Which model answered in place of another one; empty where it was the one that was asked for."""
    if _is_same(asked.model, answered.model):
        return ""  # whoever serves it
    return f"{answered.title} in place of {asked.title}"


def _is_same(one: str, other: str) -> bool:
    """Whether two names mean one model: with or without the folder of its maker and the date of its version."""
    left, right = (name.casefold().rpartition("/")[2] for name in (one, other))
    if not left or not right or left == right:
        return True
    longer, shorter = sorted((left, right), key=len, reverse=True)
    return longer.startswith(shorter) and bool(_VERSION.fullmatch(longer[len(shorter) :]))
