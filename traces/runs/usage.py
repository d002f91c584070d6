"""Usage of a run: tokens and cost, by turn and by model."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.core.vocabulary import Label, Reason, StepType
from traces.http.responses import PROBLEMS, path
from traces.models import Run, Step
from traces.runs import queries
from traces.runs.presenters import number
from traces.schemas import ModelUsage, RunUsage, TurnUsage, UsageSum

_REUSE_LABELS: Final = frozenset({Label.EXACT, Label.CACHED})


class UsageView(APIView):
    @extend_schema(
        operation_id="get_usage",
        parameters=[path("id", "The run's id, a unique prefix of it, its external id, or `last`.")],
        responses={200: RunUsage, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """Return the tokens and cost of a run: in total, by model and by turn."""
        return Response(usage(queries.find_run(id)))


@dataclass
class _Sum:
    calls: int = 0
    reused_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost: Decimal | None = None
    unpriced_calls: int = 0
    models: dict[str, None] = field(default_factory=dict)

    def add(self, step: Step) -> None:
        self.calls += 1
        self.reused_calls += step.label in _REUSE_LABELS or step.reason == Reason.SOURCE_OUTPUT_REUSED
        self.tokens_in += step.tokens_in or 0
        self.tokens_out += step.tokens_out or 0
        self.tokens_cached += step.tokens_cached or 0
        self.models[step.model] = None
        if step.cost_usd is None:
            self.unpriced_calls += 1
        else:
            self.cost = (self.cost or Decimal(0)) + step.cost_usd

    def to_schema(self) -> UsageSum:
        return UsageSum(
            calls=self.calls,
            reused_calls=self.reused_calls,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            tokens_cached=self.tokens_cached,
            cost_usd=number(self.cost),
            unpriced_calls=self.unpriced_calls,
        )


def usage(run: Run) -> RunUsage:
    """Sum up a run's usage. A turn is a turn step with its children; a model call outside of any is a separate turn."""
    columns = (
        "sequence_no",
        "parent_no",
        "name",
        "provider",
        "model",
        "label",
        "reason",
        "cost_usd",
        "tokens_in",
        "tokens_out",
        "tokens_cached",
    )
    calls = Step.objects.filter(run_id=run.id, type=StepType.MODEL).order_by("sequence_no").only(*columns)
    total = _Sum()
    models: dict[tuple[str, str], _Sum] = {}
    turns: dict[int, _Sum] = {}
    index = _TurnIndex(run)
    for step in calls:
        turn_sum = turns.setdefault(index.turn_of(step), _Sum())
        for target in (total, models.setdefault((step.provider, step.model), _Sum()), turn_sum):
            target.add(step)
    return RunUsage(
        total=total.to_schema(),
        models=[
            ModelUsage(provider=provider, model=model, usage=model_sum.to_schema())
            for (provider, model), model_sum in models.items()
        ],
        turns=list(_turns(turns, index)),
    )


def _turns(turns: dict[int, _Sum], index: "_TurnIndex") -> Iterator[TurnUsage]:
    for position, (no, turn_sum) in enumerate(sorted(turns.items())):
        names = [name for name in turn_sum.models if name]
        yield TurnUsage(turn=position, step=no, name=index.turns.get(no, ""), models=names, usage=turn_sum.to_schema())


class _TurnIndex:
    """Finds the turn step around a model call."""

    def __init__(self, run: Run) -> None:
        query = Step.objects.filter(run_id=run.id).exclude(type=StepType.MODEL).order_by("sequence_no")
        rows = list(query.values_list("sequence_no", "parent_no", "type", "name"))
        self.turns = {no: name for no, _, type, name in rows if type == StepType.TURN}
        # The outermost turn of each step inside of one. Parents come before the steps that they contain.
        self._outer_turns: dict[int | None, int] = {}
        for no, parent, type, _ in rows:
            if parent in self._outer_turns:
                self._outer_turns[no] = self._outer_turns[parent]
            elif type == StepType.TURN:
                self._outer_turns[no] = no

    def turn_of(self, step: Step) -> int:
        """Return the number of the outermost turn step around a call, or the call's own number."""
        return self._outer_turns.get(step.parent_no, step.sequence_no)
