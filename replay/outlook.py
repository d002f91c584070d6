"""What a plan's walk comes to, kept for plans that ask the same models otherwise. Pure.

Where every model step is asked anew, and each finds a provider, nothing that a profile sets on models or in system
prompts can become known before the answers: whatever it is, the same steps are asked, and the same ones follow.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
        self._known: dict[str, Outlook] = {}

    def of(
        self, graph: Graph, profile: AppliedProfile, policy: Policy, *, provider: Provider, price: Price,
        walked: Callable[[], Outlook],
    ) -> Outlook:  # fmt: skip
        """The outlook of a plan: as `walked`, or that of one before it with the costs of this one."""
        if not policy.asks_anew(StepType.MODEL):
            return walked()
        served = _served(graph, profile, provider)
        if served is None:
            return walked()
        key = policy.model_dump_json()
        if key not in self._known:
            first = walked()
            steps = planned_steps(graph, first.events, first.costs, brief=True, untouched=False)
            self._known[key] = replace(first, steps=steps)
            return self._known[key]
        return _priced(self._known[key], served, price)


def _served(graph: Graph, profile: AppliedProfile, provider: Provider) -> dict[int, tuple[str, str]] | None:
    """By model step: the provider and the model that answer it. None where a profile does more, or one finds none."""
    if profile.refusals or not all(map(_only_asks, {id(one): one for one in profile.by_step.values()}.values())):
        return None
    found: dict[int, tuple[str, str]] = {}
    names: dict[tuple[str, str, int], tuple[str | None, str]] = {}
    for node in graph.nodes:
        if node.type is not StepType.MODEL:
            if node.no in profile.by_step:
                return None
            continue
        if not node.input_ref:
            return None  # it is not asked, and what else becomes of it depends on what the profile sets
        edits = profile.of(node)
        key = node.provider, node.model, id(edits)
        name, model = names.get(key) or names.setdefault(key, _named(node, edits, provider))
        if name is None:
            return None
        found[node.no] = name, model
    return found


def _only_asks(edits: Edits) -> bool:
    """Whether edits change what a model is asked, by its configuration or its system prompt, and nothing else."""
    bare = replace(edits, entries=(), model={}, prompt={})
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
