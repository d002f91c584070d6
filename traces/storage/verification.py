"""Verification of many artifacts, such as those of a run: each pack is decoded once, and each member hashed once.

Digests are bytes here, as in the database: to write all of them in digits would take as long as to hash the contents.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate, repeat
from typing import Final

from traces.errors import ArtifactCorrupt
from traces.models.digests import digest_key, digest_keys
from traces.payloads.digest_packing import part_digests
from traces.storage import artifacts, packs
from traces.storage.artifacts import PlaceRow
from traces.storage.packs import StoredPack, UnreadablePack

# Places in memory: the steps of a run use neighbours in its packs, and all of them its first parts.
_MOST_PLACES: Final = 100_000


class Verifier:
    """Verifies artifacts against their names. Of a pack, it verifies all members: the others are asked for soon."""

    def __init__(self) -> None:
        self._intact: set[bytes] = set()
        self._packs: set[int] = set()
        # Where intact members of these packs are, and what the packs refer to.
        self._places: set[PlaceRow] = set()
        self._parts: set[bytes] = set()

    def are_whole(self, keys: Iterable[bytes]) -> bool:
        """True if artifacts are intact, and so is everything that they contain.

        False also if a pack of theirs refers to anything else that is not: `references` finds out what that is.
        """
        pending = self._parts.union(keys) - self._intact
        while pending:
            rows = artifacts.place_rows(pending)
            self._read_packs(rows)
            if len(rows) < len(pending) or not self._places.issuperset(rows):
                return False
            self._intact |= pending
            pending = self._parts - self._intact
        # All of them are intact.
        self._parts.clear()
        return True

    def _read_packs(self, rows: Iterable[PlaceRow]) -> None:
        """Verify the packs of some artifacts, as far as they exist."""
        if len(self._places) > _MOST_PLACES:
            self._packs.clear()
            self._places.clear()
        row_of = {row[1]: row for row in rows}
        for pack in packs.read(sorted(row_of.keys() - self._packs)):
            self._packs.add(pack.id)
            try:
                content, digests = packs.decode_with_digests(pack, row_of[pack.id][0].hex())
            except UnreadablePack:
                continue
            lines = [content] if row_of[pack.id][3] == len(content) else content.split(b"\n")
            self._places.update(_places(pack, lines))
            self._parts.update(digests)


def references(keys: Iterable[bytes]) -> dict[bytes, Sequence[bytes] | None]:
    """Return by artifact that exists the digests that it refers to; None for a damaged one."""
    return {
        digest_key(artifact.sha256): None if isinstance(artifact, ArtifactCorrupt) else _part_keys(artifact.data)
        for artifact in artifacts.verify(key.hex() for key in keys)
    }


def closure(keys: Collection[bytes]) -> set[bytes]:
    """Return artifacts and all parts that they contain at any depth, as far as they are readable."""
    level = result = set(keys)
    while level:
        level = {part for parts in references(level).values() for part in parts or ()} - result
        result = result | level
    return result


def _places(pack: StoredPack, lines: Sequence[bytes]) -> Iterator[PlaceRow]:
    """Return where a reader finds each line."""
    sizes = [*map(len, lines)]
    starts = accumulate((size + 1 for size in sizes[:-1]), initial=0)
    digests = [sha256(line).digest() for line in lines]
    return zip(digests, repeat(pack.id), starts, sizes, strict=False)


def _part_keys(data: bytes) -> Sequence[bytes]:
    return digest_keys(part_digests(data))
