"""Models that answered in place of the recorded ones. Pure."""

import re
from dataclasses import dataclass
from typing import Final

# gpt-5 may be served as gpt-5-2025-08-07: the same model under its version name.
_VERSION: Final = re.compile(r"([-@:]v?\d[\d.-]*|[-:@]latest)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """A model by provider and name; empty: unknown."""

    provider: str
    model: str

    @property
    def title(self) -> str:
        return f"{self.model} of {self.provider}" if self.provider else self.model


def substitution(requested_model: ServedModel, answering_model: ServedModel) -> str:
    """Name the model that answered in place of the requested one; empty if that one answered, from any provider."""
    if _is_same(requested_model.model, answering_model.model):
        return ""
    return f"{answering_model.title} in place of {requested_model.title}"


def _is_same(first: str, second: str) -> bool:
    """Return whether two names mean the same model, ignoring its maker's prefix and its version date."""
    left, right = (name.casefold().rpartition("/")[2] for name in (first, second))
    if not left or not right or left == right:
        return True
    longer, shorter = sorted((left, right), key=len, reverse=True)
    return longer.startswith(shorter) and bool(_VERSION.fullmatch(longer[len(shorter) :]))
