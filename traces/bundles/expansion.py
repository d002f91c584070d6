"""Sizes of payloads whose parts are joined: parts that refer to each other twice double with every level."""

from collections.abc import Iterable, Mapping
from typing import Final

import orjson

from traces.bundles.archive import ARTIFACTS, BadBundle
from traces.payloads.parts import references

# Of one payload in bytes. Beyond that, it may repeat itself as often as this.
_FREE: Final = 32 * 1024 * 1024
_RATIO: Final = 8
# Of all payloads together. A conversation is repeated by each of its requests.
_TOTAL_FREE: Final = 4 * 1024 * 1024 * 1024
_TOTAL_RATIO: Final = 10_000
# Values have fewer, and blocks of long lists add a few.
_MOST_LEVELS: Final = 200


def check(artifacts: Mapping[str, bytes], roots: Iterable[str]) -> None:
    """Raise `BadBundle` if the values that these artifacts form are much larger or deeper than the artifacts."""
    stored_size = sum(map(len, artifacts.values()))
    limit, total_limit = _FREE + _RATIO * stored_size, _TOTAL_FREE + _TOTAL_RATIO * stored_size
    measure, total = _Measure(artifacts), 0
    for root in sorted(set(roots) & artifacts.keys()):
        size = measure.size(root)
        total += size
        if size > limit or total > total_limit:
            detail = f"the payload {root} unpacks to {size} bytes, much more than the bundle has"
            raise BadBundle(detail, where=f"{ARTIFACTS}{root}")


class _Visit:
    """An artifact whose parts are being measured; `rest` are those that were not looked at yet."""

    def __init__(self, digest: str, parts: list[str]) -> None:
        self.digest, self.parts, self.rest = digest, parts, iter(parts)


class _Measure:
    """Measures artifacts with everything that they refer to, each once."""

    def __init__(self, artifacts: Mapping[str, bytes]) -> None:
        self._artifacts = artifacts
        self._sizes: dict[str, int] = {}

    def size(self, digest: str) -> int:
        """Return the size of the value that an artifact forms. Missing parts have none."""
        path = [_Visit(digest, self._references(digest))]
        while path:
            visit = path[-1]
            if next_part := next((part for part in visit.rest if part not in self._sizes), None):
                path.append(_Visit(next_part, self._references(next_part)))
                if len(path) > _MOST_LEVELS:
                    raise BadBundle(f"the payload {digest} is nested too deep", where=f"{ARTIFACTS}{digest}")
                continue
            self._sizes[visit.digest] = len(self._artifacts[visit.digest]) + sum(
                map(self._sizes.__getitem__, visit.parts)
            )
            path.pop()
        return self._sizes[digest]

    def _references(self, digest: str) -> list[str]:
        return [part for part in references(orjson.loads(self._artifacts[digest])) if part in self._artifacts]
