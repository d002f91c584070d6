"""Witness runs: which content of an input is configuration."""

from replay.inputs.witnesses import WitnessStep, places, witness


def step(no: int, name: str, output_ref: str, *digests: str) -> WitnessStep:
    return WitnessStep(no=no, type="model", name=name, output_ref=output_ref, digests=digests)


def test_witness_outputs_are_filed_by_place() -> None:
    """The second call of a role is the same place, whatever its number."""
    own = [step(1, "router", "a"), step(2, "writer", "b"), step(3, "writer", "c")]
    other = [step(1, "router", "x"), step(2, "planner", "y"), step(3, "writer", "z"), step(5, "writer", "w")]
    result = witness(other, places(own))
    assert result.outputs == {1: "x", 2: "z", 3: "w"}


def test_witness_contents_include_all_unexplained_content() -> None:
    result = witness([step(1, "router", "a", "d1", "d2"), step(2, "writer", "b", "d3")], {})
    assert result.contents == {("model", "router", "d1"), ("model", "router", "d2"), ("model", "writer", "d3")}
