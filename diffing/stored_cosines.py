"""Cosines of embedded texts in the database, so that each pair is embedded once."""

from collections.abc import Mapping, Sequence
from typing import Final

from diffing.models import Cosine

_CHUNK: Final = 500


class StoredCosines:
    """A `Memory` that all processes share."""

    def load(self, keys: Sequence[str]) -> Mapping[str, float]:
        """The stored cosines of these keys."""
        cosines: dict[str, float] = {}
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            cosines.update(Cosine.objects.filter(key__in=chunk).values_list("key", "cosine"))
        return cosines

    def save(self, cosines: Mapping[str, float]) -> None:
        """Store cosines; another process may have stored the same ones."""
        rows = [Cosine(key=key, cosine=cosine) for key, cosine in cosines.items()]
        Cosine.objects.bulk_create(rows, batch_size=_CHUNK, ignore_conflicts=True)
