"""Decoded packs of the last reads: a value and its parts mostly lie in the same packs, which never change."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from traces.storage.packs import TARGET, StoredPack

# Less than 10 MB.
_MOST: Final = 500


class DecodedPack(NamedTuple):
    id: int
    media_type: str
    content: bytes


class RecentPacks:
    """The packs decoded last, for one reader of many artifacts. Artifacts in them are verified at every read."""

    def __init__(self) -> None:
        self._packs: OrderedDict[int, DecodedPack] = OrderedDict()

    def find(self, ids: Iterable[int]) -> Iterator[DecodedPack]:
        """Yield those of some packs that were decoded before."""
        for pack_id in sorted(self._packs.keys() & ids):
            self._packs.move_to_end(pack_id)
            yield self._packs[pack_id]

    def add(self, pack: StoredPack, content: bytes) -> None:
        # Much larger ones contain one artifact. Their target counts no separators.
        if len(content) <= 2 * TARGET:
            self._packs[pack.id] = DecodedPack(pack.id, pack.media_type, content)
        if len(self._packs) > _MOST:
            self._packs.popitem(last=False)
