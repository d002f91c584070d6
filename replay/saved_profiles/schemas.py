"""What the REST interface says about stored override profiles and policies."""

import re
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from traces.core.json_types import JSONObject
from traces.core.schema import Schema

Kind = Literal["profile", "policy"]
DIGEST: Final = re.compile(r"[0-9a-f]{64}")
SHORTEST_DIGEST: Final = 8


def _name(value: str) -> str:
    """A name is never mistaken for a digest."""
    if re.fullmatch(rf"[0-9a-f]{{{SHORTEST_DIGEST},64}}", value):
        raise ValueError("a name must not look like a digest: put another letter or a dash into it")
    return value


Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,79}$"), AfterValidator(_name)]


class StoredProfile(Schema):
    """An override profile that never changes. Its names may move to another one."""

    digest: str
    names: list[str]
    profile: JSONObject  # as it was written: what is absent is not overridden
    created_at: datetime
    used_by: int  # replays that made exactly these changes


class StoredPolicy(Schema):
    """A policy that never changes. Its names may move to another one."""

    digest: str
    names: list[str]
    policy: JSONObject  # as it was written: what is absent is as usual
    created_at: datetime
    used_by: int  # replays under exactly this policy


class ProfileList(Schema):
    profiles: list[StoredProfile]


class PolicyList(Schema):
    policies: list[StoredPolicy]


class SaveProfile(Schema):
    """The name is given to the profile, also when another one had it."""

    name: Name
    profile: OverrideProfile


class SavePolicy(Schema):
    """The name is given to the policy, also when another one had it."""

    name: Name
    policy: Policy
