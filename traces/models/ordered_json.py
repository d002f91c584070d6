"""A column of JSON that keeps the order of members."""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Cast
from psycopg.types.json import Json, Jsonb


class OrderedJSONField(models.JSONField):
    """JSON that is returned with its members in the order in which they were stored.

    PostgreSQL's `jsonb` sorts them. An agent that writes a result into its next prompt would then send another request
    than with SQLite, and a diff would name members in another order. Values of the type `json` can be neither indexed
    nor, except as `comparable`, compared.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "json" if connection.vendor == "postgresql" else super().db_type(connection)

    def get_db_prep_value(self, *arguments: Any, **options: Any) -> Any:
        parameter = super().get_db_prep_value(*arguments, **options)
        return Json(parameter.obj, dumps=parameter.dumps) if isinstance(parameter, Jsonb) else parameter


def comparable(column: str) -> Cast:
    """The column as an expression whose members a condition may compare."""
    return Cast(column, models.JSONField())
