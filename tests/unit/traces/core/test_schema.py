"""Base classes of the REST schemas."""

from typing import Annotated

from traces.core.schema import AS_TEXT, Schema
from traces.core.vocabulary import StepType


class Plain(Schema):
    type: StepType


class AsText(Schema):
    type: Annotated[StepType, AS_TEXT]


def test_enum_as_text_is_the_same_json() -> None:
    item = AsText.model_validate({"type": "model"})
    assert item.type is StepType.MODEL
    assert item.model_dump_json() == Plain(type=StepType.MODEL).model_dump_json()
    schemas = [schema.model_json_schema(mode="serialization") for schema in (AsText, Plain)]
    assert schemas[0] == {**schemas[1], "title": "AsText"}
