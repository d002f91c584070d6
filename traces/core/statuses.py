"""Statuses of what is stored, and which may follow which. Pure."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Self


class WrongMove(Exception):
    """A status that may not follow the one before it: a mistake in the code, never in a request."""


class Status(StrEnum):
    """Base of statuses: each kind states once which of them may follow which."""

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        """The statuses that may follow each; one that is missing is final."""
        raise NotImplementedError

    @property
    def following(self) -> AbstractSet[Self]:
        return self.moves().get(self, frozenset())

    @property
    def is_final(self) -> bool:
        return not self.following

    def then(self, after: Self) -> Self:
        """The status that follows; raises `WrongMove` where it may not."""
        if after not in self.following:
            raise WrongMove(f"{type(self).__name__}: {after} may not follow {self}")
        return after
