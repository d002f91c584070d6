"""Schemas of a diff's control replay in the REST API."""

from uuid import UUID

from replay.core.plan import PlanRefusal
from replay.overrides.policy import Policy
from replay.sessions.schemas import SessionView
from traces.core.schema import Schema


class UnchangedRequest(Schema):
    """`policy` null: the candidate's policy, repeating live what the candidate called live."""

    policy: Policy | None = None


class UnchangedView(Schema):
    """The base replayed without the changes: its cost, and the replay once it is started.

    `attached`: it is finished and attached to the report.
    """

    diff: UUID
    how: str
    fork_sequence_no: int
    live_calls: int
    # Null: the price of a live model is unknown.
    cost_usd: float | None
    refusals: list[PlanRefusal]
    warnings: list[str]
    session: SessionView | None
    attached: bool
