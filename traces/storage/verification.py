"""Verification of many artifacts, such as those of a run: each pack is decoded once, and each artifact hashed once.

Digests are bytes here, as in the database: to write all of them in digits would take as long as to hash the contents.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import filterfalse, groupby

from traces.errors import ArtifactCorrupt
from traces.models.digests import digest_key, digest_keys
from traces.payloads.digest_packing import part_digests
from traces.storage import artifacts, packs
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
        names = self._unverified([*self._parts, *keys])
        while names:
            if not self._are_intact(names):
                return False
            self._intact.update(names)
            names = self._unverified(self._parts)
        # All of them are intact.
        self._parts.clear()
        return True

    def _unverified(self, keys: Iterable[bytes]) -> list[bytes]:
        return [*filterfalse(self._intact.__contains__, dict.fromkeys(keys))]

    def _are_intact(self, names: list[bytes]) -> bool:
        """Return whether artifacts of these names exist whose bytes match them."""
        places = artifacts.places_in_order(names)
        if len(places.packs) < len(names):
            return False
        members = _members(places.packs)
        # One pack after another: together, large ones take much memory.
        for pack_id, content in self._contents({pack: names[parts[0].start] for pack, parts in members.items()}):
            for part in members.pop(pack_id):
                bounds = zip(places.starts[part], places.ends[part], strict=True)
                if [sha256(content[start:end]).digest() for start, end in bounds] != names[part]:
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


def _members(pack_ids: Iterable[int]) -> dict[int, list[slice]]:
    """Return by pack which members of a list are in it. Neighbours in the list mostly are in one pack."""
    members: dict[int, list[slice]] = {}
    end = 0
    for pack, neighbours in groupby(pack_ids):
        start, end = end, end + len(list(neighbours))
        members.setdefault(pack, []).append(slice(start, end))
    return members


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
