"""Schemas of stored override profiles and policies in the REST API."""

import re
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from traces.core.json_types import JSONObject
from traces.core.schema import Schema

Kind = Literal["profile", "policy"]
SHORTEST_DIGEST: Final = 8


def _name(value: str) -> str:
    """Reject names that could be mistaken for a digest."""
    if re.fullmatch(rf"[0-9a-f]{{{SHORTEST_DIGEST},64}}", value):
        raise ValueError("a name must not look like a digest; add a dash or a letter from g to z")
    return value


Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$"), AfterValidator(_name)]


class StoredProfile(Schema):
    """An immutable override profile. Its names can move to another profile."""

    digest: str
    names: list[str]
    # As written: absent fields are not overridden.
    profile: JSONObject
    created_at: datetime
    # Number of replays with exactly these changes.
    used_by: int


class StoredPolicy(Schema):
    """An immutable policy. Its names can move to another policy."""

    digest: str
    names: list[str]
    # As written: absent keys have their default.
    policy: JSONObject
    created_at: datetime
    # Number of replays with exactly this policy.
    used_by: int


class ProfileList(Schema):
    profiles: list[StoredProfile]


class PolicyList(Schema):
    policies: list[StoredPolicy]


class SaveProfile(Schema):
    """Saves the profile under the name; an existing name moves to this profile."""

    name: Name
    profile: OverrideProfile


class SavePolicy(Schema):
    """Saves the policy under the name; an existing name moves to this policy."""

    name: Name
    policy: Policy
