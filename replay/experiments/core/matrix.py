"""The matrix of an experiment: every combination of the axes, with its overrides merged into one profile. Pure."""

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from replay.core.plan import PlanRefusal
from replay.experiments.core.schemas import AxisValue, ExperimentRequest, Setting
from replay.overrides.edits import merge_settings
from replay.overrides.profile import Override, OverrideProfile
from traces.core.canonical import digest

MOST_ROWS: Final = 200
# Of all combinations together.
_MOST_ENTRIES: Final = 100_000
_ENTRIES: Final = "/overrides/overrides/"
_FIELDWISE: Final = ("model", "prompt", "retrieval")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination. `origins`: for each entry of the profile, the place in the request it comes from."""

    number: int
    settings: tuple[Setting, ...]
    overrides: OverrideProfile
    origins: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Place:
    """One row of the matrix."""

    cell: Cell
    sample: int


def cells(request: ExperimentRequest) -> list[Cell]:
    """Every combination of the axes' values, with the last axis changing fastest; without axes, one cell."""
    choices = [list(enumerate(axis.values)) for axis in request.axes]
    return [_cell(number, request, combination) for number, combination in enumerate(product(*choices), 1)]


def places(all_cells: list[Cell], samples: int) -> list[Place]:
    """The rows in execution order: first one sample of each cell, so that early results cover all cells."""
    return [Place(cell=cell, sample=sample) for sample in range(1, samples + 1) for cell in all_cells]


def size(request: ExperimentRequest) -> int:
    """The number of rows, computed without creating them."""
    rows = request.samples
    for axis in request.axes:
        rows *= len(axis.values)
    return rows


def _entries(request: ExperimentRequest) -> int:
    """The maximum number of overrides of all combinations together."""
    per_cell = len(request.overrides.overrides)
    per_cell += sum(max(len(value.overrides) for value in axis.values) for axis in request.axes)
    return per_cell * size(request) // request.samples


def refusals(request: ExperimentRequest) -> list[PlanRefusal]:
    """Problems of the matrix itself, regardless of the run."""
    problems = list(_repeated_names(request))
    if (rows := size(request)) > MOST_ROWS:
        detail = f"the matrix has {rows} rows, but at most {MOST_ROWS} are allowed; use fewer values or samples"
        problems.append(PlanRefusal(code="validation_error", detail=detail, where="/axes"))
    elif (entries := _entries(request)) > _MOST_ENTRIES:
        detail = (
            f"the combinations have {entries:,} overrides, but at most {_MOST_ENTRIES:,} are allowed; use fewer values"
        )
        problems.append(PlanRefusal(code="validation_error", detail=detail, where="/axes"))
    if request.samples > 1 and request.policy.order == "reuse":
        detail = "with `order: reuse` every sample gets the answers of the first one; use `reexecute`"
        problems.append(PlanRefusal(code="policy_conflict", detail=detail, where="/policy/order"))
    return problems


def relocate(refusal: PlanRefusal, cell: Cell) -> PlanRefusal:
    """Point the refusal of one cell's replay into the experiment's request."""
    if not refusal.where.startswith(_ENTRIES):
        return refusal
    index, _, rest = refusal.where.removeprefix(_ENTRIES).partition("/")
    pointer = cell.origins[int(index)] + (f"/{rest}" if rest else "")
    return refusal.model_copy(update={"where": pointer})


def _repeated_names(request: ExperimentRequest) -> list[PlanRefusal]:
    lists = [("/axes", [axis.name for axis in request.axes])]
    for index, axis in enumerate(request.axes):
        lists.append((f"/axes/{index}/values", [value.name for value in axis.values]))
    return [
        PlanRefusal(code="validation_error", detail=f"the name “{name}” is used {times} times", where=pointer)
        for pointer, names in lists
        for name, times in Counter(names).items()
        if times > 1
    ]


def _cell(number: int, request: ExperimentRequest, combination: tuple[tuple[int, AxisValue], ...]) -> Cell:
    entries = [(f"{_ENTRIES}{index}", entry) for index, entry in enumerate(request.overrides.overrides)]
    for axis_index, (value_index, value) in enumerate(combination):
        place = f"/axes/{axis_index}/values/{value_index}/overrides"
        entries += [(f"{place}/{index}", entry) for index, entry in enumerate(value.overrides)]
    origins, overrides = _merge(entries)
    settings = tuple(
        Setting(axis=axis.name, value=value.name) for axis, (_, value) in zip(request.axes, combination, strict=True)
    )
    return Cell(number=number, settings=settings, overrides=OverrideProfile(overrides=overrides), origins=origins)


def _merge(entries: list[tuple[str, Override]]) -> tuple[tuple[str, ...], list[Override]]:
    """Merge entries for the same steps; if both set a field, the later one (of the axis) wins."""
    by_match: dict[str, dict[str, Any]] = {}
    origins: dict[str, str] = {}
    for origin, entry in entries:
        fields = entry.model_dump(mode="json", exclude_unset=True)
        key = digest(fields["match"])
        origins[key] = origin
        by_match[key] = _merge_fields(by_match[key], fields) if key in by_match else fields
    return tuple(origins[key] for key in by_match), [Override.model_validate(fields) for fields in by_match.values()]


def _merge_fields(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    fields = {**earlier, **later}
    for name in _FIELDWISE:
        if name in earlier and name in later:
            fields[name] = merge_settings(earlier[name] or {}, later[name] or {})
    if "messages" in earlier and "messages" in later:
        fields["messages"] = [*(earlier["messages"] or []), *(later["messages"] or [])]
    # `output` and `tool` both set the step's answer.
    if "output" in later:
        fields.pop("tool", None)
    elif "tool" in later:
        fields.pop("output", None)
    return fields
