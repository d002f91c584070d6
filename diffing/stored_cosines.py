"""Cosines of embedded texts in the database, so that no pair of texts is embedded twice."""

from collections.abc import Mapping, Sequence
from typing import Final

from diffing.models import Cosine

_AT_ONCE: Final = 500


class StoredCosines:
    """A `Memory` that all processes share."""

    def load(self, keys: Sequence[str]) -> Mapping[str, float]:
        """Those of the keys that are known."""
        found: dict[str, float] = {}
        for at in range(0, len(keys), _AT_ONCE):
            some = keys[at : at + _AT_ONCE]
            found.update(Cosine.objects.filter(key__in=some).values_list("key", "cosine"))
        return found

    def save(self, cosines: Mapping[str, float]) -> None:
        """Another process may have found the same in the meantime."""
        rows = [Cosine(key=key, cosine=cosine) for key, cosine in cosines.items()]
        Cosine.objects.bulk_create(rows, batch_size=_AT_ONCE, ignore_conflicts=True)
