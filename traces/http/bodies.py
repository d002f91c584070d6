"""What callers send, as a model of what may be sent. Pure."""

from typing import TypeVar

import pydantic

from traces.errors import ProblemError
from traces.http.json_pointers import first_problem

Model = TypeVar("Model", bound=pydantic.BaseModel)


class InvalidBody(ProblemError):
    """It says something that it may not say."""

    status = 422


def parsed(model: type[Model], document: object) -> Model:
    """A document as a model; raises `InvalidBody` naming the place. Whatever else fails to fit is an error of ours."""
    try:
        return model.model_validate(document)
    except pydantic.ValidationError as error:
        detail, where = first_problem(error, document)
        raise InvalidBody(detail, where=where) from error
