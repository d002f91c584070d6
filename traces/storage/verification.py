"""Verification of many artifacts, such as those of a run: each pack is decoded once, and each artifact hashed once.

Digests are bytes here, as in the database: to write all of them in digits would take as long as to hash the contents.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from traces.errors import ArtifactCorrupt
from traces.models.digests import digest_key, digest_keys
from traces.payloads.digest_packing import part_digests
from traces.storage import artifacts, packs
from traces.storage.artifacts import Place
from traces.storage.packs import RecentPacks, UnreadablePack


class Verifier:
    """Verifies artifacts against their names."""

    def __init__(self) -> None:
        self._intact: set[bytes] = set()
        # The steps of a run use neighbours in its packs.
        self._recent_packs = RecentPacks()
        # What the packs that were decoded refer to.
        self._parts: dict[bytes, None] = {}

    def are_whole(self, keys: Iterable[bytes]) -> bool:
        """True if artifacts are intact, and so is everything that they contain.

        False also if a pack of theirs refers to anything else that is not: `references` finds out what that is.
        """
        intact = self._intact
        names = [key for key in dict.fromkeys([*self._parts, *keys]) if key not in intact]
        while names:
            places = artifacts.places_in_order(names)
            if len(places) < len(names) or not self._are_in(places, names):
                return False
            intact.update(names)
            names = [key for key in self._parts if key not in intact]
        # All of them are intact.
        self._parts.clear()
        return True

    def _are_in(self, places: Iterable[Place], names: Iterable[bytes]) -> bool:
        """Return whether artifacts of these names are in these places."""
        members: dict[int, list[tuple[bytes, Place]]] = {}
        for name, place in zip(names, places, strict=True):
            members.setdefault(place[0], []).append((name, place))
        # One pack after another: together, large ones take much memory.
        for pack_id, content in self._contents({pack_id: pack[0][0] for pack_id, pack in members.items()}):
            for name, (_, start, size) in members.pop(pack_id):
                if sha256(content[start : start + size]).digest() != name:
                    return False
        # Those of missing and unreadable packs.
        return not members

    def _contents(self, members: Mapping[int, bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield packs with their decoded bytes, as far as they are readable, given a member of each."""
        recent_packs = [*self._recent_packs.find(members)]
        yield from ((pack.id, pack.content) for pack in recent_packs)
        for pack in packs.read(sorted(members.keys() - {pack.id for pack in recent_packs})):
            try:
                content, digests = packs.decode_with_digests(pack, members[pack.id].hex())
            except UnreadablePack:
                continue
            self._recent_packs.add(pack, content)
            self._parts.update(dict.fromkeys(digests))
            yield pack.id, content


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


def _part_keys(data: bytes) -> Sequence[bytes]:
    return digest_keys(part_digests(data))
