"""Redaction policy: which fields are stored as they are, redacted, hashed or dropped, and which detectors run."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StringConstraints, field_validator, model_validator

from traces.core.json_walk import pointer_tokens
from traces.core.schema import Schema
from traces.core.vocabulary import StepType
from traces.redaction.markers import KIND_PATTERN

ANY_KEY: Final = "*"
ANY_DEPTH: Final = "**"
STEP_FIELDS: Final = ("input", "output", "attributes", "error")
RUN_FIELDS: Final = ("metadata",)
MAX_RULES: Final = 200
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")


class Action(StrEnum):
    """What happens to a field; the later of two actions for one field wins, so that a denial beats a permission."""

    RAW = "raw"
    REDACT = "redact"
    HASH = "hash"
    DROP = "drop"


class PersonalData(StrEnum):
    """Kinds of personal data that a detector finds."""

    EMAIL = "email"
    PHONE = "phone"
    CREDIT_CARD = "credit-card"
    IBAN = "iban"
    IP_ADDRESS = "ip-address"
    US_SSN = "us-ssn"


class FieldRule(Schema):
    """A rule for the fields at a path: a JSON pointer that begins with the step's or run's field.

    `*` stands for one key or index, `**` for any number of them. Without step types it applies to all steps.
    """

    name: Annotated[str, StringConstraints(pattern=rf"^{KIND_PATTERN}$")]
    action: Action
    path: Annotated[str, Field(max_length=500)]
    step_types: Annotated[list[StepType], Field(max_length=20)] = []
    reason: Annotated[str, StringConstraints(strip_whitespace=True, max_length=300, pattern=r"^[^\x00]*$")] = ""

    @field_validator("path")
    @classmethod
    def _check_path(cls, path: str) -> str:
        if not path.startswith("/") or _BAD_ESCAPE.search(path):
            raise ValueError("a path is a JSON pointer such as /input/customer/email, with ~0 for ~ and ~1 for /")
        head = path.split("/")[1]
        if head not in (*STEP_FIELDS, *RUN_FIELDS, ANY_KEY, ANY_DEPTH):
            fields = ", ".join((*STEP_FIELDS, *RUN_FIELDS))
            raise ValueError(f"a path begins with one of {fields}, * or **; this one begins with “{head[:80]}”")
        return path

    @model_validator(mode="after")
    def _check_types(self) -> "FieldRule":
        if self.step_types and self.segments[0] in RUN_FIELDS:
            raise ValueError(f"{self.path} is a field of runs: leave step_types empty")
        return self

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(pointer_tokens(self.path))


class PolicyContent(Schema):
    """The content of one version of a policy; null leaves a detector to the policy of all apps, or its default."""

    secrets: bool | None = None
    personal_data: Annotated[list[PersonalData], Field(max_length=20)] | None = None
    rules: Annotated[list[FieldRule], Field(max_length=MAX_RULES)] = []

    @model_validator(mode="after")
    def _check_names(self) -> "PolicyContent":
        names = [rule.name for rule in self.rules]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ValueError(f"rules {names.index(name)} and {index} have the same name “{name}”")
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What applies to the runs of one app."""

    secrets: bool = True
    personal_data: frozenset[PersonalData] = frozenset()
    rules: tuple[FieldRule, ...] = ()

    @property
    def denies_fields(self) -> bool:
        return any(rule.action is not Action.RAW for rule in self.rules)


def combine(contents: Iterable[PolicyContent]) -> Policy:
    """Return the policy of an app from that of all apps and its own, in this order.

    Their rules apply together; for detectors the last one that decides counts.
    """
    secrets, personal_data = True, frozenset[PersonalData]()
    rules: list[FieldRule] = []
    for content in contents:
        secrets = secrets if content.secrets is None else content.secrets
        personal_data = personal_data if content.personal_data is None else frozenset(content.personal_data)
        rules += content.rules
    return Policy(secrets=secrets, personal_data=personal_data, rules=tuple(rules))


State = tuple[int, int]  # a rule, and the number of its segments that the path so far matches
States = frozenset[State]


class FieldPaths:
    """Follows the paths of rules through a value."""

    def __init__(self, rules: Sequence[FieldRule]) -> None:
        self.rules = rules
        self._paths = [rule.segments for rule in rules]

    def start(self, type: StepType | None, field: str) -> States:
        """Return the states at a field of a step of this type, or of the run (None)."""
        fields = RUN_FIELDS if type is None else STEP_FIELDS
        rules = range(len(self.rules)) if field in fields else ()
        applicable = (
            index
            for index in rules
            if not self.rules[index].step_types or (type is not None and type in self.rules[index].step_types)
        )
        return self.enter(self._close({(index, 0) for index in applicable}), field)

    def enter(self, states: States, key: str) -> States:
        """Return the states at a member or an entry."""
        next_states: set[State] = set()
        for index, position in states:
            path = self._paths[index]
            if position == len(path):
                continue
            if path[position] == ANY_DEPTH:
                next_states.add((index, position))
            elif path[position] in (ANY_KEY, key):
                next_states.add((index, position + 1))
        return self._close(next_states)

    def rule_at(self, states: States) -> FieldRule | None:
        """Return the rule for the value in these states; the strongest action wins."""
        matches = [self.rules[index] for index, position in states if position == len(self._paths[index])]
        order = list(Action)
        return max(matches, key=lambda rule: (order.index(rule.action), rule.name), default=None)

    def remaining(self, states: States) -> States:
        """Return the states of rules that may match deeper values."""
        return frozenset((index, position) for index, position in states if position < len(self._paths[index]))

    def _close(self, states: set[State]) -> States:
        """Add the states after each `**`, which may stand for nothing."""
        pending = list(states)
        while pending:
            index, position = pending.pop()
            path = self._paths[index]
            if position < len(path) and path[position] == ANY_DEPTH and (index, position + 1) not in states:
                states.add((index, position + 1))
                pending.append((index, position + 1))
        return frozenset(states)
