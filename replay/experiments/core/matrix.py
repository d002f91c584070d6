"""From axes to cells: every combination once, its overrides merged into one profile. Pure."""

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
_MOST_ENTRIES: Final = 100_000  # of all combinations together
_ENTRIES: Final = "/overrides/overrides/"
_FIELDWISE: Final = ("model", "prompt", "retrieval")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination. `origins` says for each entry of the profile where in the request it comes from."""

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
    """Every combination of the axes' values, the last axis changing fastest; no axes make one cell."""
    choices = [list(enumerate(axis.values)) for axis in request.axes]
    return [_cell(number, request, chosen) for number, chosen in enumerate(product(*choices), 1)]


def places(found: list[Cell], samples: int) -> list[Place]:
    """The rows in the order in which they run: first one sample of each cell, so that the picture is whole early."""
    return [Place(cell=cell, sample=sample) for sample in range(1, samples + 1) for cell in found]


def size(request: ExperimentRequest) -> int:
    """How many rows there would be, without making them."""
    rows = request.samples
    for axis in request.axes:
        rows *= len(axis.values)
    return rows


def _entries(request: ExperimentRequest) -> int:
    """How many overrides all combinations have together, at most."""
    each = len(request.overrides.overrides)
    each += sum(max(len(value.overrides) for value in axis.values) for axis in request.axes)
    return each * size(request) // request.samples


def refusals(request: ExperimentRequest) -> list[PlanRefusal]:
    """What is wrong with the matrix itself, whatever the run is."""
    found = list(_repeated_names(request))
    if (rows := size(request)) > MOST_ROWS:
        detail = f"the matrix has {rows} rows, and {MOST_ROWS} are the most: take fewer values or samples"
        found.append(PlanRefusal(code="validation_error", detail=detail, where="/axes"))
    elif (entries := _entries(request)) > _MOST_ENTRIES:
        detail = f"the combinations have {entries:,} overrides, and {_MOST_ENTRIES:,} are the most: take fewer values"
        found.append(PlanRefusal(code="validation_error", detail=detail, where="/axes"))
    if request.samples > 1 and request.policy.order == "reuse":
        detail = "with `order: reuse` the second sample gets the answers of the first: say `reexecute`"
        found.append(PlanRefusal(code="policy_conflict", detail=detail, where="/policy/order"))
    return found


def relocated(refusal: PlanRefusal, cell: Cell) -> PlanRefusal:
    """A refusal of one cell's replay, pointing into the experiment's request."""
    if not refusal.where.startswith(_ENTRIES):
        return refusal
    index, _, rest = refusal.where.removeprefix(_ENTRIES).partition("/")
    where = cell.origins[int(index)] + (f"/{rest}" if rest else "")
    return refusal.model_copy(update={"where": where})


def _repeated_names(request: ExperimentRequest) -> list[PlanRefusal]:
    lists = [("/axes", [axis.name for axis in request.axes])]
    lists += [(f"/axes/{at}/values", [value.name for value in axis.values]) for at, axis in enumerate(request.axes)]
    return [
        PlanRefusal(code="validation_error", detail=f"the name {name!r} is there {times} times", where=where)
        for where, names in lists
        for name, times in Counter(names).items()
        if times > 1
    ]


def _cell(number: int, request: ExperimentRequest, chosen: tuple[tuple[int, AxisValue], ...]) -> Cell:
    entries = [(f"{_ENTRIES}{at}", entry) for at, entry in enumerate(request.overrides.overrides)]
    for axis, (at, value) in enumerate(chosen):
        place = f"/axes/{axis}/values/{at}/overrides"
        entries += [(f"{place}/{index}", entry) for index, entry in enumerate(value.overrides)]
    origins, merged = _merged(entries)
    settings = tuple(
        Setting(axis=axis.name, value=value.name) for axis, (_, value) in zip(request.axes, chosen, strict=True)
    )
    return Cell(number=number, settings=settings, overrides=OverrideProfile(overrides=merged), origins=origins)


def _merged(entries: list[tuple[str, Override]]) -> tuple[tuple[str, ...], list[Override]]:
    """Entries for the same steps become one; where both set a field, the later one, of the axis, wins."""
    found: dict[str, dict[str, Any]] = {}
    origins: dict[str, str] = {}
    for origin, entry in entries:
        said = entry.model_dump(mode="json", exclude_unset=True)
        key = digest(said["match"])
        origins[key] = origin
        found[key] = _onto(found[key], said) if key in found else said
    return tuple(origins[key] for key in found), [Override.model_validate(said) for said in found.values()]


def _onto(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    both = {**earlier, **later}
    for name in _FIELDWISE:
        if name in earlier and name in later:
            both[name] = merge_settings(earlier[name] or {}, later[name] or {})
    if "messages" in earlier and "messages" in later:
        both["messages"] = [*(earlier["messages"] or []), *(later["messages"] or [])]
    if "output" in later:  # both say what the step answers
        both.pop("tool", None)
    elif "tool" in later:
        both.pop("output", None)
    return both
