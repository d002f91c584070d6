"""Branches of a conversation whose messages name their parents: a request was edited, or an answer repeated."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

# Each branch may repeat a long shared beginning.
MOST_BRANCHES: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """The messages from the root to a leaf; the first `shared_length` of them are those of the current branch."""

    path: Sequence[str]
    shared_length: int

    @property
    def fork(self) -> str:
        """The first message of its own."""
        return self.path[self.shared_length]


def current_path(parents: Mapping[str, str], leaf: str) -> list[str]:
    """Return the messages from the root to `leaf`, or to the last leaf if there is no such message."""
    leaves = _leaves(parents)
    return _path(parents, leaf if leaf in parents else (leaves[-1] if leaves else next(iter(parents), "")))


def other_branches(parents: Mapping[str, str], main: Sequence[str], answers: AbstractSet[str]) -> list[Branch]:
    """Return the branches with an answer that is not in the current one."""
    branches = [
        Branch(path=path, shared_length=_shared_length(path, main))
        for leaf in _leaves(parents)
        if leaf not in main and (path := _path(parents, leaf))
    ]
    return [branch for branch in branches if not answers.isdisjoint(branch.path[branch.shared_length :])]


def _leaves(parents: Mapping[str, str]) -> list[str]:
    inner = {*parents.values()}
    return [key for key in parents if key not in inner]


def _path(parents: Mapping[str, str], leaf: str) -> list[str]:
    path: dict[str, None] = {}
    while leaf in parents and leaf not in path:
        path[leaf] = None
        leaf = parents[leaf]
    return [*reversed(path)]


def _shared_length(path: Sequence[str], main: Sequence[str]) -> int:
    pairs = zip(path, main, strict=False)
    return next((index for index, (node, twin) in enumerate(pairs) if node != twin), min(len(path), len(main) - 1))
