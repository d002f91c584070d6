"""The cells of an experiment: combinations, merged overrides, and refusals."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.core.plan import PlanRefusal
from replay.experiments.core import matrix
from replay.experiments.core.schemas import ExperimentRequest

MODELS: dict[str, Any] = {"type": "model"}


def request(*axes: dict[str, Any], **more: Any) -> ExperimentRequest:
    return ExperimentRequest.model_validate({"run": "r", "axes": list(axes), **more})


def axis(name: str, **values: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "values": [{"name": key, "overrides": entries} for key, entries in values.items()]}


def model(**sets: Any) -> list[dict[str, Any]]:
    return [{"match": MODELS, "model": sets}]


def test_cells_cover_every_combination_in_order() -> None:
    experiment_request = request(
        axis("model", small=model(model="s"), large=model(model="l")),
        axis("prompt", plain=[], polite=[{"match": MODELS, "prompt": {"system": "Please."}}]),
        samples=2,
    )
    cells = matrix.cells(experiment_request)
    assert [[setting.value for setting in cell.settings] for cell in cells] == [
        ["small", "plain"],
        ["small", "polite"],
        ["large", "plain"],
        ["large", "polite"],
    ]
    assert [(place.sample, place.cell.number) for place in matrix.places(cells, 2)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 1),
        (2, 2),
        (2, 3),
        (2, 4),
    ]
    assert matrix.size(experiment_request) == 8


def test_no_axes_make_one_cell() -> None:
    assert [cell.settings for cell in matrix.cells(request())] == [()]


@given(st.lists(st.integers(1, 4), max_size=4), st.integers(1, 5))
def test_size_is_the_number_of_rows(lengths: list[int], samples: int) -> None:
    axes = [
        {"name": f"a{at}", "values": [{"name": str(value)} for value in range(length)]}
        for at, length in enumerate(lengths)
    ]
    experiment_request = request(*axes, samples=samples)
    rows = matrix.places(matrix.cells(experiment_request), samples)
    assert len(rows) == matrix.size(experiment_request)
    keys = {(place.sample, tuple(setting.value for setting in place.cell.settings)) for place in rows}
    assert len(keys) == len(rows)


def test_axis_overrides_win_when_merged() -> None:
    base = {"overrides": [{"match": MODELS, "model": {"model": "m", "temperature": 1.0}}]}
    experiment_request = request(axis("t", cold=model(temperature=0), hot=model(temperature=2)), overrides=base)
    entries_by_cell = [
        cell.overrides.model_dump(exclude_unset=True)["overrides"] for cell in matrix.cells(experiment_request)
    ]
    assert [[entry["model"] for entry in entries] for entries in entries_by_cell] == [
        [{"model": "m", "temperature": 0}],
        [{"model": "m", "temperature": 2}],
    ]


def test_output_replaces_tool_override() -> None:
    base = {"overrides": [{"match": {"step": 4}, "tool": {"output": "a"}}]}
    experiment_request = request(axis("o", other=[{"match": {"step": 4}, "output": None}]), overrides=base)
    [cell] = matrix.cells(experiment_request)
    assert [entry.sets for entry in cell.overrides.overrides] == [["output"]]


def test_refusal_points_to_its_axis() -> None:
    base = {"overrides": [{"match": {"step": 4}, "output": "x"}]}
    [cell] = matrix.cells(request(axis("m", only=model(model="s")), overrides=base))
    refusal = PlanRefusal(code="override_matches_nothing", detail="", where="/overrides/overrides/1/match")
    assert matrix.relocate(refusal, cell).where == "/axes/0/values/0/overrides/0/match"
    of_run = refusal.model_copy(update={"where": "/run"})
    assert matrix.relocate(of_run, cell) == of_run


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"samples": 2, "policy": {"order": "reuse"}}, ["/policy/order"]),
        ({"axes": [axis("a", x=[]), axis("a", y=[])]}, ["/axes"]),
        ({"axes": [{"name": "a", "values": [{"name": "x"}, {"name": "x"}]}]}, ["/axes/0/values"]),
        ({"axes": [{"name": "a", "values": [{"name": str(n)} for n in range(50)]}], "samples": 5}, ["/axes"]),
        (
            {
                "overrides": {"overrides": [{"match": {"step": n}, "output": 1} for n in range(1, 3_001)]},
                "axes": [{"name": "a", "values": [{"name": str(n)} for n in range(40)]}],
            },
            ["/axes"],
        ),
        ({"samples": 50}, []),
    ],
)
def test_invalid_matrix_is_refused(changes: dict[str, Any], pointers: list[str]) -> None:
    experiment_request = ExperimentRequest.model_validate({"run": "r", **changes})
    assert [refusal.where for refusal in matrix.refusals(experiment_request)] == pointers


def test_samples_reexecute_by_default() -> None:
    assert request().policy.order == "reexecute"
    assert request(policy={"max_turns": 3}).policy.order == "reexecute"
    assert request(policy={"order": "reuse"}).policy.order == "reuse"
