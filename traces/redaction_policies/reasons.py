"""Reasons of markers: why a value is not shown."""

from collections.abc import Iterable, Iterator
from typing import Final

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONValue
from traces.models import RedactionPolicy
from traces.redaction.markers import FAILURE, kinds
from traces.redaction.policy import FieldRule, PersonalData
from traces.redaction.secret_rules import secret_rules
from traces.redaction_policies import services

_UNKNOWN: Final = "replaced by a rule that this server does not have"
_FAILURE: Final = "a detector failed, so nothing of this field was stored"


def reasons(app: str, value: object) -> dict[str, str]:
    """Return the reason of each kind of marker in a value of an app's run."""
    unique = list(dict.fromkeys(kinds(value)))
    if not unique:
        return {}
    titles = {rule.kind: f"Secret: {rule.title}" for rule in secret_rules()}
    titles |= {str(kind): f"Personal data: {str(kind).replace('-', ' ')}" for kind in PersonalData}
    titles[FAILURE] = _FAILURE
    if any(kind not in titles for kind in unique):
        titles = {**_rule_reasons(app), **titles}
    return {kind: titles.get(kind, _UNKNOWN) for kind in unique}


def marks(value: JSONValue, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield the JSON pointer and the kind of each marker in a value."""
    if isinstance(value, dict):
        for key, item in value.items():
            place = f"{pointer}/{escape_pointer(key)}"
            yield from ((place, kind) for kind in kinds(key))
            yield from marks(item, place)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from marks(item, f"{pointer}/{index}")
    else:
        yield from ((pointer, kind) for kind in kinds(value))


def _rule_reasons(app: str) -> dict[str, str]:
    """Return the reasons of the field rules of an app, of all versions: the newest one counts."""
    rows = RedactionPolicy.objects.filter(app__in={services.ALL_APPS, app}).order_by("id")
    rules: Iterable[FieldRule] = (rule for row in rows for rule in services.content_of(row).rules)
    return {rule.name: rule.reason or f"The policy's rule {rule.name} ({rule.action} {rule.path})" for rule in rules}
