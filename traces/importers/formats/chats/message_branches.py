"""Branches of a conversation whose messages name their parents: a request was edited, or an answer repeated."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Final

# Each branch may repeat a long shared beginning.
MOST_BRANCHES: Final = 100


@dataclass(frozen=True, kw_only=True)
class Branch:
    """The messages from the root to a leaf; `own_part` are those that the current and earlier branches lack."""

    parents: Mapping[str, str]
    own_part: Sequence[str]

    @property
    def fork(self) -> str:
        """The first message of its own."""
        return self.own_part[0]

    # Built for few branches: all paths together may be far longer than the conversation.
    @cached_property
    def path(self) -> list[str]:
        return _path(self.parents, self.own_part[-1])

    @property
    def shared_length(self) -> int:
        """The number of its messages in the current branch or an earlier one."""
        return len(self.path) - len(self.own_part)


def current_path(parents: Mapping[str, str], leaf: str) -> list[str]:
    """Return the messages from the root to `leaf`, or to the last leaf if there is no such message."""
    leaves = _leaves(parents)
    return _path(parents, leaf if leaf in parents else (leaves[-1] if leaves else next(iter(parents), "")))


def other_branches(parents: Mapping[str, str], main: Sequence[str], answers: AbstractSet[str]) -> list[Branch]:
    """Return the branches with an answer that is in neither the current one nor an earlier one."""
    earlier_messages = {*main}
    branches: list[Branch] = []
    for leaf in _leaves(parents):
        own_part = _path(parents, leaf, earlier_messages)
        earlier_messages.update(own_part)
        if not answers.isdisjoint(own_part):
            branches.append(Branch(parents=parents, own_part=own_part))
    return branches


def _leaves(parents: Mapping[str, str]) -> list[str]:
    inner = {*parents.values()}
    return [key for key in parents if key not in inner]


def _path(parents: Mapping[str, str], leaf: str, earlier_messages: AbstractSet[str] = frozenset()) -> list[str]:
    """Return the messages from the root, or the one after the last earlier message, to a leaf."""
    path: dict[str, None] = {}
    while leaf in parents and leaf not in path and leaf not in earlier_messages:
        path[leaf] = None
        leaf = parents[leaf]
    return [*reversed(path)]
