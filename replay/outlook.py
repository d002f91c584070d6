"""What a plan's walk comes to, kept for plans that ask the same models otherwise. Pure.

Where every model step is asked anew, and each finds a provider, nothing that a profile sets on what models are asked
can become known before the answers: whatever it is, the same steps are asked, and the same ones follow. So plans that
set the same on all other steps share one walk, and that one need not know the requests either.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final

from replay.edits import AppliedProfile, Edits
from replay.graph import Graph, Node
from replay.planned import planned_steps
from replay.policy import Policy
from replay.schemas import PlannedStep
from replay.world import Call, Event, Resolved
from traces.vocabulary import StepType

Provider = Callable[[str, str, str | None], str | None]
Price = Callable[[str, str, int | None, int | None], float | None]
_ONLY_ASKED: Final = frozenset({"system"})
_Others = tuple[tuple[int, str], ...]


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What a walk says, what its live calls would cost by number, and tools that somebody has to review first."""

    events: Sequence[Event]
    costs: Mapping[int, float | None]
    unreviewed: Sequence[Call] = ()
    steps: list[PlannedStep] | None = None  # in brief, where several plans share them


class Outlooks:
    """Those of one source, by policy."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, _Others], Outlook] = {}

    def of(
        self, graph: Graph, profile: AppliedProfile, policy: Policy, *, provider: Provider, price: Price,
        walked: Callable[[bool], Outlook],
    ) -> Outlook:  # fmt: skip
        """The outlook of a plan: as `walked`, blind or not, or that of one before it with the costs of this one."""
        if not policy.asks_anew(StepType.MODEL):
            return walked(False)
        served = _served(graph, profile, provider)
        if served is None:
            return walked(False)
        key = policy.model_dump_json(), _others(graph, profile)
        if key not in self._known:
            first = walked(True)
            steps = planned_steps(graph, first.events, first.costs, brief=True, untouched=False)
            self._known[key] = replace(first, steps=steps)
            return self._known[key]
        return _priced(self._known[key], served, price)


def _served(graph: Graph, profile: AppliedProfile, provider: Provider) -> dict[int, tuple[str, str]] | None:
    """By model step: the provider and the model that answer it. None where a profile does more, or one finds none."""
    if profile.refusals:
        return None
    asking = {id(edits): _only_asks(edits) for edits in {id(one): one for one in profile.by_step.values()}.values()}
    found: dict[int, tuple[str, str]] = {}
    names: dict[tuple[str, str, int], tuple[str | None, str]] = {}
    for node in graph.nodes:
        if node.type is not StepType.MODEL:
            continue
        edits = profile.of(node)
        if not node.input_ref or not asking.get(id(edits), True):
            return None  # it is not asked, and what else becomes of it depends on what the profile sets
        key = node.provider, node.model, id(edits)
        name, model = names.get(key) or names.setdefault(key, _named(node, edits, provider))
        if name is None:
            return None
        found[node.no] = name, model
    return found


def _others(graph: Graph, profile: AppliedProfile) -> _Others:
    """What a profile sets on other steps than models."""
    named = {id(edits): repr(edits) for edits in {id(one): one for one in profile.by_step.values()}.values()}
    return tuple(
        (no, named[id(edits)])
        for no, edits in sorted(profile.by_step.items(), key=itemgetter(0))
        if graph.by_no[no].type is not StepType.MODEL
    )


def _only_asks(edits: Edits) -> bool:
    """Whether edits change what a model is asked, and nothing else."""
    bare = replace(edits, entries=(), model={}, prompt={}, messages=())
    return bare == Edits() and edits.prompt.keys() <= _ONLY_ASKED


def _named(node: Node, edits: Edits, provider: Provider) -> tuple[str | None, str]:
    override = edits.model.get("provider")
    model = str(edits.model.get("model", node.model))
    name = str(override) if override is not None else node.provider
    return provider(name, model, None if override is None else str(override)), model


def _priced(known: Outlook, served: Mapping[int, tuple[str, str]], price: Price) -> Outlook:
    """The same with what its models cost."""
    costs, changed = dict(known.costs), dict[int, float | None]()
    for event in known.events:
        node = event.call.node if isinstance(event, Resolved) and event.answer.action == "live" else None
        if isinstance(event, Resolved) and node is not None and node.type is StepType.MODEL:
            cost = price(*served[node.no], node.tokens_in, node.tokens_out)
            if cost != costs[event.call.no]:
                costs[event.call.no] = changed[node.no] = cost
    steps = [
        step.model_copy(update={"cost_usd": changed[step.sequence_no]}) if step.sequence_no in changed else step
        for step in known.steps or ()
    ]  # fmt: skip
    return replace(known, costs=costs, steps=steps)
