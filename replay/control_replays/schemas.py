"""What the REST interface says about the unchanged replay beside a diff."""

from uuid import UUID

from replay.core.plan import PlanRefusal
from replay.overrides.policy import Policy
from replay.sessions.schemas import SessionView
from traces.core.schema import Schema


class UnchangedRequest(Schema):
    """`policy` null: that of the candidate, asking again what the candidate asked."""

    policy: Policy | None = None


class UnchangedView(Schema):
    """The base replayed without the changes: what it would take, and the replay once it was started.

    `attached`: it is finished and stands beside the report.
    """

    diff: UUID
    how: str
    fork_sequence_no: int
    live_calls: int
    cost_usd: float | None  # null: some live model has no known price
    refusals: list[PlanRefusal]
    warnings: list[str]
    session: SessionView | None
    attached: bool
