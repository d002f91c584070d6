"""Values of the standard library that JSON has as text: times, decimals, paths, bytes."""

import ast
import datetime
import decimal
import fractions
import pathlib
import uuid
from collections.abc import Callable
from typing import Any, Final


def _from_repr(make: Callable[[Any], Any]) -> Callable[[str], Any]:
    """Return a reader of both `Name('text')`, as a `repr` is, and the plain text."""

    def read(text: str) -> Any:
        _, bracket, rest = text.partition("(")
        return make(ast.literal_eval(rest.removesuffix(")")) if bracket else text)

    return read


def _fraction(text: str) -> fractions.Fraction:
    return fractions.Fraction(*map(int, text.removeprefix("Fraction(").removesuffix(")").split(",")))


def _time_span(text: str) -> datetime.timedelta:
    parts = text.removeprefix("datetime.timedelta(").removesuffix(")")
    pairs = (part.split("=") for part in parts.split(", ") if "=" in part)
    return datetime.timedelta(**{name: int(value) for name, value in pairs})


# By class: how an object is made of the text that JSON has for it.
READERS: Final[dict[type, Callable[[str], Any]]] = {
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    datetime.timedelta: _time_span,
    decimal.Decimal: _from_repr(decimal.Decimal),
    fractions.Fraction: _fraction,
    uuid.UUID: _from_repr(uuid.UUID),
    pathlib.PosixPath: _from_repr(pathlib.PosixPath),
    pathlib.PurePosixPath: _from_repr(pathlib.PurePosixPath),
    bytes: ast.literal_eval,
    complex: complex,
}
READERS_BY_NAME: Final = {kind.__name__: reader for kind, reader in READERS.items()}
