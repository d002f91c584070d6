"""What a run used: tokens and money, for each turn and each model."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.core.vocabulary import Label, StepType
from traces.http.responses import PROBLEMS, path
from traces.models import Run, Step
from traces.runs import queries
from traces.runs.presenters import number
from traces.schemas import ModelUsage, RunUsage, TurnUsage, UsageSum

_REUSED: Final = frozenset({Label.EXACT, Label.CACHED})


class UsageView(APIView):
    @extend_schema(
        operation_id="get_usage",
        parameters=[path("id", "The run's id, a unique beginning of it, its external id, or `last`.")],
        responses={200: RunUsage, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """Tokens and cost of a run: in all, for each model, and for each turn."""
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
        self.reused_calls += step.label in _REUSED
        self.tokens_in += step.tokens_in or 0
        self.tokens_out += step.tokens_out or 0
        self.tokens_cached += step.tokens_cached or 0
        self.models[step.model] = None
        if step.cost_usd is None:
            self.unpriced_calls += 1
        else:
            self.cost = (self.cost or Decimal(0)) + step.cost_usd

    def shown(self) -> UsageSum:
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
    """A turn is a turn step with everything in it; a model call outside of any is a turn of its own."""
    columns = (
        "sequence_no",
        "parent_no",
        "name",
        "provider",
        "model",
        "label",
        "cost_usd",
        "tokens_in",
        "tokens_out",
        "tokens_cached",
    )
    calls = Step.objects.filter(run_id=run.id, type=StepType.MODEL).order_by("sequence_no").only(*columns)
    total = _Sum()
    models: dict[tuple[str, str], _Sum] = {}
    turns: dict[int, _Sum] = {}
    around = _Around(run)
    for step in calls:
        turn = around.turn_of(step)
        for each in (total, models.setdefault((step.provider, step.model), _Sum()), turns.setdefault(turn, _Sum())):
            each.add(step)
    return RunUsage(
        total=total.shown(),
        models=[
            ModelUsage(provider=provider, model=model, usage=found.shown())
            for (provider, model), found in models.items()
        ],
        turns=list(_turns(turns, around)),
    )


def _turns(turns: dict[int, _Sum], around: "_Around") -> Iterator[TurnUsage]:
    for index, (no, found) in enumerate(sorted(turns.items())):
        names = [name for name in found.models if name]
        yield TurnUsage(turn=index, step=no, name=around.turns.get(no, ""), models=names, usage=found.shown())


class _Around:
    """Which turn step a model call is in."""

    def __init__(self, run: Run) -> None:
        rows = Step.objects.filter(run_id=run.id).exclude(type=StepType.MODEL)
        found = list(rows.values_list("sequence_no", "parent_no", "type", "name"))
        self.parents: dict[int, int | None] = {no: parent for no, parent, _, _ in found}
        self.turns = {no: name for no, _, type, name in found if type == StepType.TURN}

    def turn_of(self, step: Step) -> int:
        """The number of the outermost turn step around a call; its own, where there is none."""
        return next(reversed(list(self._turns_around(step.parent_no))), step.sequence_no)

    def _turns_around(self, parent: int | None) -> Iterable[int]:
        while parent is not None:
            if parent in self.turns:
                yield parent
            parent = self.parents.get(parent)
