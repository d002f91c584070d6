"""The fields shared by all views of a step."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from replay.core.graph import Node
from replay.langfuse.core import events
from traces.core.recorded_run import RecordedStep
from traces.core.step_header import STORED_FIELDS, StepHeader, StoredHeader, evolve, header_of, typed_columns
from traces.core.vocabulary import StepStatus, StepType
from traces.ingest.step_rows import COLUMNS, RECORDED_COLUMNS, StepRow
from traces.models import Step
from traces.provenance import step_outputs

HEADER: dict[str, Any] = {
    "type": StepType.TOOL,
    "name": "look up",
    "status": StepStatus.ERROR,
    "provider": "",
    "model": "",
    "tool_name": "get_order",
    "call_id": "c1",
    "tokens_in": 1,
    "tokens_out": 2,
    "tokens_cached": None,
}


def test_header_passes_between_views() -> None:
    step = RecordedStep(**HEADER, key="a", input={"id": 1})
    facts = step_outputs.StepFacts(**header_of(step), no=1, input=step.input, output=None)
    assert header_of(facts) == header_of(step) == HEADER


def test_database_header_has_enum_members() -> None:
    row = SimpleNamespace(
        **{name: str(value) if name in {"type", "status"} else value for name, value in HEADER.items()}
    )
    header = header_of(row)
    assert header == HEADER
    assert header["type"] is StepType.TOOL
    assert header["status"] is StepStatus.ERROR


def test_stored_columns_exist_in_database() -> None:
    assert set(STORED_FIELDS) <= {field.attname for field in Step._meta.concrete_fields}
    row = ["tool" if name == "type" else "ok" if name == "status" else name for name in STORED_FIELDS]
    assert StoredHeader(**typed_columns(STORED_FIELDS, row)).signature == "signature"


@pytest.mark.parametrize("view", [Node, RecordedStep, StepRow, step_outputs.StepFacts, events.StepFacts])
def test_views_extend_the_header_with_slots(view: type[StepHeader]) -> None:
    assert issubclass(view, StepHeader)
    assert "__dict__" not in dir(view)


def test_copy_has_other_values() -> None:
    step = RecordedStep(**HEADER, key="a", input={"id": 1}, links=("b",))
    assert evolve(step, name="other", links=()) == RecordedStep(**{**HEADER, "name": "other"}, key="a", input={"id": 1})
    assert step.name == "look up"
    with pytest.raises(AttributeError):
        evolve(step, unknown=1)


def test_equal_steps_have_equal_hashes() -> None:
    node = Node(id=UUID(int=1), no=1, type=StepType.MODEL, name="m1", model="m1")
    assert hash(node) == hash(Node(id=UUID(int=1), no=1, type=StepType.MODEL, name="m1", model="m1"))
    assert node.is_named_by_model
    assert node.callee == "m1"


def test_content_digest_covers_every_recorded_column() -> None:
    computed_columns = {"id", "source_step", "summary", "signature", "unexplained"}
    assert set(RECORDED_COLUMNS) == set(COLUMNS) - computed_columns
    assert COLUMNS[-1] == "unexplained", "`values_with_content` replaces the last one"
