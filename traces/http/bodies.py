"""Request bodies: parse them into models. Pure."""

from typing import TypeVar

import pydantic

from traces.errors import ProblemError
from traces.http.json_pointers import first_problem

Model = TypeVar("Model", bound=pydantic.BaseModel)


class InvalidBody(ProblemError):
    """A request body that does not match its schema."""

    status = 422


def parse_body(model: type[Model], document: object) -> Model:
    """Parse a document into a model; raise `InvalidBody` with a pointer. Other validation errors are our own."""
    try:
        return model.model_validate(document)
    except pydantic.ValidationError as error:
        detail, pointer = first_problem(error, document)
        raise InvalidBody(detail, where=pointer) from error
