"""Vocabularies as the choices of a column."""

from collections.abc import Iterable
from enum import StrEnum


def choices(vocabulary: Iterable[StrEnum]) -> list[tuple[str, str]]:
    return [(member.value, member.value) for member in vocabulary]
