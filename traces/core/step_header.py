"""Step header: the fields of a step that recordings, rows, graphs, diffs and exports share.

The views extend these classes instead of containing one, so that `step.name` works everywhere. `header_of` copies
the fields from one view to another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import Any, Final, TypeVar, dataclass_transform
from uuid import UUID

from traces.core.vocabulary import StepStatus, StepType

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def step_view(view: type[T]) -> type[T]:
    """Create a dataclass with slots that mypy treats as frozen.

    A diff builds 200,000 of them; a dataclass that is frozen at run time takes over ten times as long to build.
    """
    return dataclass(kw_only=True, slots=True, unsafe_hash=True)(view)


def evolve(view: T, **changes: Any) -> T:
    """Return a copy of a step view with other values, in a third of the time of `dataclasses.replace`."""
    kind: Any = type(view)
    copy: T = object.__new__(kind)
    names, values = _fields_of(kind)
    # A loop in Python would take twice as long.
    list(map(setattr, repeat(copy), names, values(view)))
    for name, value in changes.items():
        setattr(copy, name, value)
    return copy


@lru_cache(None)
def _fields_of(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the names of the fields of a view, of which it has several, and how to read their values."""
    names = tuple([field.name for field in fields(kind)])
    return names, attrgetter(*names)


@dataclass_transform(frozen_default=True)
def payload_view(view: type[T]) -> type[T]:
    """Like `step_view`, with positional fields: every payload is looked at several times."""
    return dataclass(slots=True, unsafe_hash=True)(view)


@step_view
class StepHeader:
    """A step without its payloads, stored or not."""

    type: StepType
    name: str
    status: StepStatus = StepStatus.OK
    provider: str = ""
    model: str = ""
    tool_name: str = ""
    call_id: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None

    @property
    def callee(self) -> str:
        """The tool's name, or the step's own."""
        return self.tool_name or self.name

    @property
    def is_named_by_model(self) -> bool:
        """True for a model step that has the name of its model, as many do."""
        return self.type == StepType.MODEL and self.name == self.model


@step_view
class StoredHeader(StepHeader):
    """A stored step; the references name its payloads."""

    id: UUID
    signature: str = ""
    input_ref: str = ""
    output_ref: str = ""
    duration_ms: float | None = None


STORED_FIELDS: Final = tuple(field.name for field in fields(StoredHeader))
_HEADER: Final = tuple(field.name for field in fields(StepHeader))
_values: Final = attrgetter(*_HEADER)
STEP_TYPES: Final = {str(member): member for member in StepType}
STEP_STATUSES: Final = {str(member): member for member in StepStatus}


def header_of(step: Any) -> dict[str, Any]:
    """Return the header fields of any view or database row."""
    return typed_columns(_HEADER, _values(step))


def typed_columns(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """Return a database row by column name, with its type and status as enum members."""
    columns = dict(zip(names, row, strict=True))
    columns["type"], columns["status"] = STEP_TYPES[columns["type"]], STEP_STATUSES[columns["status"]]
    return columns
