"""Plan results shared by plans that differ only in what models are asked. Pure.

Where every model step that a profile edits is asked live, nothing that it sets on what models are asked can become
known before the answers: whatever it is, the same steps are asked, and the same ones follow. So plans that set the same
on all other steps share one walk, and that one need not know the requests either. A step is asked live where the policy
asks all of them anew, or where no recording has an answer to its edited request.

Nor do the outputs that a profile gives to tools matter where none is put into a request that anything depends on.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final, Protocol

from replay.calls.foreseen_steps import Dependence
from replay.core.applied_profile import AppliedProfile
from replay.core.calls import Call
from replay.core.context import EditedModels
from replay.core.events import Divergence, Event, StepResolved, StepSkipped
from replay.core.graph import Graph, Node
from replay.core.plan import PlannedStep
from replay.overrides.edits import Edits
from replay.overrides.policy import Policy
from replay.planning.planned_steps import planned_steps
from traces.core.vocabulary import StepType
from traces.payloads.splitter import Splitter

Provider = Callable[[str, str, str | None], str | None]
Price = Callable[[str, str, int | None, int | None], float | None]
EditedStep = tuple[Node, Edits]
_KEPT: Final = 8  # outlooks of one source; that of a run of 6,000 steps weighs some 20 MB
_ONLY_ASKED: Final = frozenset({"system"})
_FLAT: Final = frozenset({StepType.MODEL, StepType.TOOL})


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Events of one planning run, costs of its live calls by number, and tools to review first."""

    events: Sequence[Event]
    costs: Mapping[int, float | None]
    unreviewed_calls: Sequence[Call] = ()
    dependence: Dependence = field(default_factory=Dependence)
    # In brief, where several plans share them
    steps: list[PlannedStep] | None = None


class Requests(Protocol):
    """Edited model requests that no other change reaches."""

    def are_new(self, edited: Sequence[EditedStep]) -> bool:
        """True if no recording can contain an answer to any of them."""

    def recorded(self, edited: Sequence[EditedStep]) -> frozenset[int]:
        """Numbers of the steps whose edits equal the recording."""


class UnknownRequests:
    """Requests of a plan without access to other recordings."""

    def are_new(self, edited: Sequence[EditedStep]) -> bool:
        return not edited

    def recorded(self, edited: Sequence[EditedStep]) -> frozenset[int]:
        return frozenset()


@dataclass
class Outlooks:
    """Shared plan results of one source, by edits of steps other than models; None if not shareable."""

    _known: dict[Hashable, Outlook | None] = field(default_factory=dict)

    def of(
        self,
        graph: Graph,
        profile: AppliedProfile,
        policy: Policy,
        *,
        provider: Provider,
        price: Price,
        requests: Requests,
        walked: Callable[[EditedModels], Outlook],
    ) -> Outlook:
        """Result of a plan: newly `walked`, or a shared one with this plan's costs."""
        served = _served(graph, profile, policy, provider)
        edited = None if served is None else _edited(graph, profile, policy, frozenset(served), requests)
        if served is None or edited is None or not (edited.live or edited.unchanged):
            return walked(EditedModels())
        shared = self._shared(graph, profile, policy, edited, walked)
        if shared is None or not requests.are_new(_relied_on(shared, profile, edited)):
            return walked(EditedModels())
        return _priced(shared, served, price)

    def _shared(
        self,
        graph: Graph,
        profile: AppliedProfile,
        policy: Policy,
        edited: EditedModels,
        walked: Callable[[EditedModels], Outlook],
    ) -> Outlook | None:
        exact, alike = ((policy.model_dump_json(), edited, others) for others in _others(graph, profile))
        for key in (alike, exact):
            if key in self._known:
                return self._known[key]
        outlook = walked(edited)
        steps = planned_steps(graph, outlook.events, outlook.costs, brief=True, untouched=False)
        outlook = replace(outlook, steps=steps)
        if outlook.dependence.on_requests or any(map(_leaves_the_recording, outlook.events)):
            self._keep(alike, None)
        else:
            self._keep(exact if outlook.dependence.on_outputs else alike, outlook)
        return outlook

    def _keep(self, key: Hashable, outlook: Outlook | None) -> None:
        if len(self._known) >= _KEPT:
            self._known.pop(next(iter(self._known)))
        self._known[key] = outlook


def _edited(
    graph: Graph, profile: AppliedProfile, policy: Policy, served: frozenset[int], requests: Requests
) -> EditedModels | None:
    """Edited model steps that go live whatever their request is; None if some may not."""
    if policy.reexecutes(StepType.MODEL):
        return EditedModels(live=served)
    steps = [(graph.by_no[no], profile.by_step[no]) for no in sorted(served)]
    repeated = requests.recorded(steps)
    others = [(node, edits) for node, edits in steps if node.no not in repeated]
    if any(edits.messages or edits.prompt for _, edits in others) and graph.repeats_requests:
        # Edited messages may stand in requests that nobody edits
        return None
    # The first request is looked at before a walk is made for all that are new.
    return EditedModels(live=served - repeated, unchanged=repeated) if requests.are_new(others[:1]) else None


def _relied_on(outlook: Outlook, profile: AppliedProfile, edited: EditedModels) -> list[EditedStep]:
    steps = (node for node in outlook.dependence.foreseen if node.no not in edited.unchanged)
    return [(node, profile.edits_of(node)) for node in steps]


def _leaves_the_recording(event: Event) -> bool:
    """True if a loop diverges: its later requests depend on the whole profile."""
    return isinstance(event, Divergence | StepSkipped) or (isinstance(event, StepResolved) and event.call.node is None)


def _served(
    graph: Graph, profile: AppliedProfile, policy: Policy, provider: Provider
) -> dict[int, tuple[str, str]] | None:
    """Provider and model by asked model step; None if the profile does more or a step finds no provider."""
    asking = {id(edits): _only_asks(edits) for edits in profile.distinct}
    anew = policy.reexecutes(StepType.MODEL)
    if not anew and "model" not in policy.allow:
        return None
    found: dict[int, tuple[str, str]] = {}
    names: dict[tuple[str, str, int], tuple[str | None, str]] = {}
    for node in graph.nodes:
        if node.type is not StepType.MODEL or not (anew or node.no in profile.by_step):
            continue
        edits = profile.edits_of(node)
        if not node.input_ref or not asking.get(id(edits), True) or (node.losses and not anew):
            # It is not asked, and what else becomes of it depends on what the profile sets
            return None
        key = node.provider, node.model, id(edits)
        name, model = names.get(key) or names.setdefault(key, _named(node, edits, provider))
        if name is None:
            return None
        found[node.no] = name, model
    return found


def _others(graph: Graph, profile: AppliedProfile) -> tuple[Hashable, Hashable]:
    """Edits of steps other than models: exactly, and ignoring which output a tool is given."""
    edited = [(graph.by_no[no], edits) for no, edits in sorted(profile.by_step.items(), key=itemgetter(0))]
    others = [(node, edits) for node, edits in edited if node.type is not StepType.MODEL]
    named = {id(edits): repr(edits) for edits in {id(one): one for _, one in others}.values()}
    exact = tuple((node.no, named[id(edits)]) for node, edits in others)
    if graph.witnesses or not graph.is_flat:
        return exact, exact
    digests = {id(edits): _given_digest(edits) for edits in {id(one): one for _, one in others}.values()}
    return exact, tuple(
        (
            node.no,
            named[id(edits)]
            if (given := digests[id(edits)]) is None or edits.tool is None or node.losses
            else (edits.entries, edits.tool.status, given == node.output_ref),
        )
        for node, edits in others
    )


def _given_digest(edits: Edits) -> str | None:
    """Digest of a tool's overridden output, if the edits do nothing else."""
    if edits.tool is None or replace(edits, entries=(), tool=None) != Edits():
        return None
    return Splitter().split(edits.tool.output)


def _only_asks(edits: Edits) -> bool:
    """True if edits change a model's request and nothing else."""
    bare = replace(edits, entries=(), model={}, prompt={}, messages=())
    return bare == Edits() and edits.prompt.keys() <= _ONLY_ASKED


def _named(node: Node, edits: Edits, provider: Provider) -> tuple[str | None, str]:
    override = edits.model.get("provider")
    model = str(edits.model.get("model", node.model))
    name = str(override) if override is not None else node.provider
    return provider(name, model, None if override is None else str(override)), model


def _priced(known: Outlook, served: Mapping[int, tuple[str, str]], price: Price) -> Outlook:
    """The shared result with this plan's model costs."""
    costs, changed = dict(known.costs), dict[int, float | None]()
    for event in known.events:
        node = event.call.node if isinstance(event, StepResolved) and event.answer.action == "live" else None
        if isinstance(event, StepResolved) and node is not None and node.no in served:
            cost = price(*served[node.no], node.tokens_in, node.tokens_out)
            if cost != costs[event.call.no]:
                costs[event.call.no] = changed[node.no] = cost
    steps = [
        step.model_copy(update={"cost_usd": changed[step.sequence_no]}) if step.sequence_no in changed else step
        for step in known.steps or ()
    ]
    return replace(known, costs=costs, steps=steps)
