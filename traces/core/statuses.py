"""Base of statuses and their allowed transitions. Pure."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Self


class InvalidTransition(Exception):
    """A status that may not follow the current one: an error in the code, never in a request."""


class Status(StrEnum):
    """Base of statuses: each subclass declares its allowed transitions."""

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        """Return the statuses that may follow each status; a status without an entry is final."""
        raise NotImplementedError

    @property
    def successors(self) -> AbstractSet[Self]:
        return self.moves().get(self, frozenset())

    @property
    def is_final(self) -> bool:
        return not self.successors

    def move_to(self, successor: Self) -> Self:
        """Return the successor; raise `InvalidTransition` if it is not allowed."""
        if successor not in self.successors:
            raise InvalidTransition(f"{type(self).__name__}: {successor} may not follow {self}")
        return successor
