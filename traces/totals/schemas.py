"""REST schemas of usage over all runs."""

from datetime import date

from traces.core.schema import Schema


class CallTotals(Schema):
    """Calls of a model or a tool in sealed runs. Tokens and cost are those of `calls`, without `reused_calls`."""

    calls: int  # that were made
    reused_calls: int  # that a replay answered from a recording
    failed_calls: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float | None  # of the calls with a known cost; null if there are none
    unpriced_calls: int


class ModelTotals(Schema):
    provider: str
    model: str
    totals: CallTotals


class ToolTotals(Schema):
    tool: str
    totals: CallTotals


class AppTotals(Schema):
    app: str
    totals: CallTotals


class DayTotals(Schema):
    day: date
    totals: CallTotals


class UsageReport(Schema):
    """Usage of models and tools over all runs. `apps` and `days` add up the model calls."""

    models: list[ModelTotals]
    tools: list[ToolTotals]
    apps: list[AppTotals]
    days: list[DayTotals]
