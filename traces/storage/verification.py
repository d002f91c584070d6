"""Verification of many artifacts, such as those of a run: each pack is decoded once, and each member hashed once.

Digests are bytes here, as in the database: to write all of them in digits would take as long as to hash the contents.
"""

from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from itertools import accumulate, count, repeat
from operator import itemgetter
from typing import Final

from traces.payloads.digest_packing import part_digests, unpack_lines
from traces.storage import artifacts, packs
from traces.storage.artifacts import PlaceRow
from traces.storage.packs import StoredPack, UnreadablePack

# Members in memory: the steps of a run use neighbours in its packs, and all of them its first parts.
_MOST_MEMBERS: Final = 100_000
_name: Final = itemgetter(0)
_pack: Final = itemgetter(1)
_Members = dict[PlaceRow, Sequence[bytes]]


class Verifier:
    """Verifies artifacts against their names. Of a pack, it verifies all members: the others are asked for soon."""

    def __init__(self) -> None:
        self._packs: set[int] = set()
        # What each intact member of these packs refers to.
        self._members: _Members = {}

    def references(self, keys: Iterable[bytes]) -> dict[bytes, Sequence[bytes] | None]:
        """Return by artifact that exists the digests that it refers to; None for a damaged one."""
        result: dict[bytes, Sequence[bytes] | None] = {}
        # Near each other in the database.
        pending = sorted(keys)
        for _ in range(artifacts.ATTEMPTS):
            rows = artifacts.place_rows(pending)
            self._read_packs(rows)
            # Without a loop in Python: a replay verifies tens of thousands of artifacts.
            result.update(zip(map(_name, rows), map(self._members.get, rows), strict=True))
            if self._packs.issuperset(map(_pack, rows)):
                break
            pending = [row[0] for row in rows if row[1] not in self._packs]
        return result

    def _read_packs(self, rows: Sequence[PlaceRow]) -> None:
        """Verify the packs of some artifacts, as far as they exist."""
        if len(self._members) > _MOST_MEMBERS:
            self._packs.clear()
            self._members.clear()
        places = dict(zip(map(_pack, rows), rows, strict=True))
        for pack in packs.read(sorted(places.keys() - self._packs)):
            self._packs.add(pack.id)
            self._members.update(_intact_members(pack, places[pack.id]))


def closure(keys: Collection[bytes]) -> set[bytes]:
    """Return artifacts and all parts that they contain at any depth, as far as they are readable."""
    verifier = Verifier()
    level = result = set(keys)
    while level:
        level = {part for parts in verifier.references(level).values() for part in parts or ()} - result
        result = result | level
    return result


def _intact_members(pack: StoredPack, place: PlaceRow) -> _Members:
    """Return what the members of a pack refer to, by their places; `place` is one of them unless it is damaged."""
    try:
        content = packs.packed_content(pack, place[0].hex())
    except UnreadablePack:
        return {}
    if pack.media_type:
        return {(sha256(content).digest(), pack.id, 0, len(content)): ()}
    lines, references = unpack_lines(content) if packs.has_packed_references(pack) else _plain_lines(content)
    if len(lines) > 1 and place[3] == sum(map(len, lines)) + len(lines) - 1:
        # It is alone, and has line breaks.
        lines = [b"\n".join(lines)]
        references = {0: _references(lines[0])}
    sizes = [*map(len, lines)]
    starts = accumulate((size + 1 for size in sizes[:-1]), initial=0)
    digests = [sha256(line).digest() for line in lines]
    members = zip(digests, repeat(pack.id), starts, sizes, strict=False)
    return dict(zip(members, map(references.get, count(), repeat(())), strict=False))


def _plain_lines(content: bytes) -> tuple[list[bytes], dict[int, list[bytes]]]:
    lines = content.split(b"\n")
    return lines, {index: digests for index, line in enumerate(lines) if (digests := _references(line))}


def _references(data: bytes) -> list[bytes]:
    return [bytes.fromhex(digest) for digest in part_digests(data)]
