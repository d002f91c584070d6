"""Verification of many artifacts, such as those of a run: each pack is decoded once, and each member hashed once.

Digests are bytes here, as in the database: to write all of them in digits would take as long as to hash the contents.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, repeat
from operator import add, itemgetter
from typing import Final

from traces.errors import ArtifactCorrupt
from traces.models.digests import digest_key, digest_keys
from traces.payloads.digest_packing import part_digests
from traces.storage import artifacts, packs
from traces.storage.artifacts import Place
from traces.storage.packs import StoredPack, UnreadablePack

# Places in memory: the steps of a run use neighbours in its packs, and all of them its first parts.
_MOST_PLACES: Final = 100_000


class Verifier:
    """Verifies artifacts against their names. Of a pack, it verifies all members: the others are asked for soon."""

    def __init__(self) -> None:
        self._intact: set[bytes] = set()
        self._packs: set[int] = set()
        # Where intact members of these packs are, and what the packs refer to.
        self._places: dict[bytes, Place] = {}
        self._parts: dict[bytes, None] = {}

    def are_whole(self, keys: Iterable[bytes]) -> bool:
        """True if artifacts are intact, and so is everything that they contain.

        False also if a pack of theirs refers to anything else that is not: `references` finds out what that is.
        """
        intact = self._intact
        names = [key for key in dict.fromkeys([*self._parts, *keys]) if key not in intact]
        while names:
            places = artifacts.places_in_order(names)
            if len(places) < len(names):
                return False
            self._read_packs(dict(zip(map(itemgetter(0), places), zip(names, places, strict=True), strict=True)))
            if places != [*map(self._places.get, names)]:
                return False
            intact.update(names)
            names = [key for key in self._parts if key not in intact]
        # All of them are intact.
        self._parts.clear()
        return True

    def _read_packs(self, members: Mapping[int, tuple[bytes, Place]]) -> None:
        """Verify packs, as far as they exist, given a member of each."""
        if len(self._places) > _MOST_PLACES:
            self._packs.clear()
            self._places.clear()
        for pack in packs.read(sorted(members.keys() - self._packs)):
            self._packs.add(pack.id)
            key, (_, _, size) = members[pack.id]
            try:
                content, digests = packs.decode_with_digests(pack, key.hex())
            except UnreadablePack:
                continue
            self._places.update(_places(pack, [content] if size == len(content) else content.split(b"\n")))
            self._parts.update(dict.fromkeys(digests))


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


def _places(pack: StoredPack, lines: Sequence[bytes]) -> Iterator[tuple[bytes, Place]]:
    """Return where a reader finds each line."""
    sizes = [*map(len, lines)]
    # A separator follows each line.
    starts = accumulate(map(add, sizes, repeat(1)), initial=0)
    digests = [sha256(line).digest() for line in lines]
    return zip(digests, zip(repeat(pack.id), starts, sizes, strict=False), strict=False)


def _part_keys(data: bytes) -> Sequence[bytes]:
    return digest_keys(part_digests(data))
