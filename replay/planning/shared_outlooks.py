"""Plan results that are shared by plans that differ only in their model requests. Pure.

If no recording answers any edited model step, its edits cannot affect the plan: whatever they are, the same steps go
live, or get placeholders if no provider serves them, and the same steps follow. Plans with equal edits of all other
steps therefore share one run of the engine, which does not build the model requests. No recording answers a model step
if the policy re-executes all model steps and a provider serves it, or if its edited request was never recorded.

Outputs that a profile gives to tools are also irrelevant unless they reach a request that the plan depends on. If no
recording contains a result, the requests with it have the same outcome, whatever the result is.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Final, Protocol

from replay.calls.foreseen_steps import Dependence
from replay.core.applied_profile import AppliedProfile
from replay.core.calls import Call
from replay.core.context import KnownRequests, NewResults
from replay.core.events import Divergence, Event, StepResolved, StepSkipped
from replay.core.graph import Graph, Node
from replay.core.plan import Plan, PlannedStep
from replay.overrides.edits import Edits
from replay.overrides.policy import Policy
from replay.planning.planned_steps import planned_steps
from traces.core.vocabulary import StepType
from traces.payloads.splitter import Splitter

Provider = Callable[[str, str, str | None], str | None]
Price = Callable[[str, str, int | None, int | None], float | None]
EditedStep = tuple[Node, Edits]
# Per source; the outlook of a run of 6,000 steps takes about 20 MB.
_MAX_OUTLOOKS: Final = 8
_REQUEST_PROMPT_FIELDS: Final = frozenset({"system"})


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Result of one planning run: events, costs of live calls by number, and tools to review first."""

    events: Sequence[Event]
    costs: Mapping[int, float | None]
    unreviewed_calls: Sequence[Call] = ()
    dependence: Dependence = field(default_factory=Dependence)
    # Brief plan entries, if several plans share them.
    steps: list[PlannedStep] | None = None

    @cached_property
    def live_steps(self) -> list[tuple[int, Node]]:
        """Source steps that go live, with the numbers of their calls."""
        resolutions = (event for event in self.events if isinstance(event, StepResolved))
        live_calls = (event.call for event in resolutions if event.answer.action == "live")
        return [(call.no, call.node) for call in live_calls if call.node is not None]


class Requests(Protocol):
    """Edited model requests that no other change reaches."""

    def are_new(self, edited_steps: Sequence[EditedStep]) -> bool:
        """True if no recording can contain an answer to any of them."""

    def unchanged(self, edited_steps: Sequence[EditedStep]) -> frozenset[int]:
        """Numbers of the steps whose edits equal the recording."""


class UnknownRequests:
    """Requests of a plan without access to other recordings."""

    def are_new(self, edited_steps: Sequence[EditedStep]) -> bool:
        return not edited_steps

    def unchanged(self, edited_steps: Sequence[EditedStep]) -> frozenset[int]:
        return frozenset()


@dataclass
class Outlooks:
    """Shared plan results of one source, by edits of steps other than models; None if they cannot be shared."""

    _outlooks: dict[Hashable, Outlook | None] = field(default_factory=dict)
    # By identity of the outlook, which is kept so that the identity is not reused.
    _drafts: dict[int, tuple[Outlook, Plan]] = field(default_factory=dict)

    def draft_of(self, outlook: Outlook, draft: Callable[[], Plan]) -> Plan:
        """What the plans of an outlook have in common; computed once if several plans share the outlook."""
        if outlook.steps is None:
            return draft()
        key = id(outlook)
        if key not in self._drafts:
            if len(self._drafts) >= _MAX_OUTLOOKS:
                self._drafts.pop(next(iter(self._drafts)))
            self._drafts[key] = outlook, draft()
        return self._drafts[key][1]

    def outlook_of(
        self,
        graph: Graph,
        profile: AppliedProfile,
        policy: Policy,
        *,
        provider: Provider,
        price: Price,
        requests: Requests,
        find_new_results: Callable[[], NewResults],
        find_alike_answers: Callable[[], Hashable | None],
        run_plan: Callable[[KnownRequests], Outlook],
    ) -> Outlook:
        """Result of a plan: a new run, or a shared result with this plan's costs."""
        if (answers := find_alike_answers()) is not None:
            return self._outlook_of_answers(graph, answers, run_plan)
        providers = _providers(graph, profile, policy, provider)
        known_requests = (
            None
            if providers is None
            else _known_requests(graph, profile, policy, providers, requests, find_new_results)
        )
        if providers is None or known_requests is None or known_requests == KnownRequests():
            return run_plan(KnownRequests())
        shared_outlook = self._shared_outlook(
            graph, profile, policy, known_requests, providers.models_without, run_plan
        )
        if shared_outlook is None or not requests.are_new(_foreseen_steps(shared_outlook, profile, known_requests)):
            return run_plan(KnownRequests())
        return _with_costs(shared_outlook, providers.by_step, price)

    def _outlook_of_answers(self, graph: Graph, key: Hashable, run_plan: Callable[[KnownRequests], Outlook]) -> Outlook:
        """Result of a plan that only overrides answers; shared unless the plan depends on their texts."""
        if (shared_outlook := self._outlooks.get(key)) is not None:
            return shared_outlook
        outlook = run_plan(KnownRequests())
        if key in self._outlooks or outlook.dependence.on_outputs:
            self._store(key, None)
            return outlook
        steps = planned_steps(graph, outlook.events, outlook.costs, brief=True, list_reused=False)
        outlook = replace(outlook, steps=steps)
        self._store(key, outlook)
        return outlook

    def _shared_outlook(
        self,
        graph: Graph,
        profile: AppliedProfile,
        policy: Policy,
        known_requests: KnownRequests,
        missing_models: Mapping[int, str],
        run_plan: Callable[[KnownRequests], Outlook],
    ) -> Outlook | None:
        exact_edits, alike_edits = _other_edits(graph, profile)
        common = policy.model_dump_json(), known_requests, frozenset(missing_models)
        # Placeholders name the model that has no provider.
        exact = *common, exact_edits, frozenset(missing_models.items())
        alike = *common, alike_edits
        for key in (alike, exact):
            if key in self._outlooks:
                return self._outlooks[key]
        outlook = run_plan(known_requests)
        steps = planned_steps(graph, outlook.events, outlook.costs, brief=True, list_reused=False)
        outlook = replace(outlook, steps=steps)
        dependence = outlook.dependence
        if dependence.on_requests or any(map(_leaves_the_recording, outlook.events)):
            self._store(alike, None)
        else:
            is_alike = graph.is_flat and not (dependence.on_outputs or dependence.on_placeholders)
            self._store(alike if is_alike else exact, outlook)
        return outlook

    def _store(self, key: Hashable, outlook: Outlook | None) -> None:
        if len(self._outlooks) >= _MAX_OUTLOOKS:
            self._outlooks.pop(next(iter(self._outlooks)))
        self._outlooks[key] = outlook


def _known_requests(
    graph: Graph,
    profile: AppliedProfile,
    policy: Policy,
    providers: "_Providers",
    requests: Requests,
    find_new_results: Callable[[], NewResults],
) -> KnownRequests | None:
    """Requests that the plan need not build; None if a recording may answer edited steps."""
    live = frozenset(providers.by_step if policy.reexecutes(StepType.MODEL) else ())
    other_steps = frozenset({*providers.by_step, *providers.models_without}) - live
    if live and not other_steps:
        return KnownRequests(live=live)
    steps = [(graph.by_no[no], profile.by_step[no]) for no in sorted(other_steps) if no in profile.by_step]
    unchanged_steps = requests.unchanged(steps) | (other_steps - profile.by_step.keys())
    changed_steps = [(node, edits) for node, edits in steps if node.no not in unchanged_steps]
    if any(edits.messages or edits.prompt for _, edits in changed_steps) and graph.repeats_requests:
        # Edited messages may occur in requests without edits.
        return None
    # Check the first request before the engine runs for all of them.
    if not requests.are_new(changed_steps[:1]):
        return None
    return KnownRequests(
        live=live, new=other_steps - unchanged_steps, unchanged=unchanged_steps, new_results=find_new_results()
    )


def _foreseen_steps(outlook: Outlook, profile: AppliedProfile, known_requests: KnownRequests) -> list[EditedStep]:
    steps = (node for node in outlook.dependence.foreseen if node.no not in known_requests.unchanged)
    return [(node, profile.edits_of(node)) for node in steps]


def _leaves_the_recording(event: Event) -> bool:
    """True if a loop diverges: its later requests depend on the whole profile."""
    return isinstance(event, Divergence | StepSkipped) or (isinstance(event, StepResolved) and event.call.node is None)


@dataclass(frozen=True, kw_only=True)
class _Providers:
    """Provider and model by model step that is edited or re-executed, and the models without a provider."""

    by_step: dict[int, tuple[str, str]] = field(default_factory=dict)
    models_without: dict[int, str] = field(default_factory=dict)


def _providers(graph: Graph, profile: AppliedProfile, policy: Policy, provider: Provider) -> _Providers | None:
    """Providers of the steps that the plan resolves again; None if the profile does more than edit their requests."""
    request_edits = {id(edits): _edits_request_only(edits) for edits in profile.distinct}
    reexecutes, is_allowed = policy.reexecutes(StepType.MODEL), "model" in policy.allow
    providers = _Providers()
    names: dict[tuple[str, str, int], tuple[str | None, str]] = {}
    for node in graph.nodes:
        if node.type is not StepType.MODEL or not (reexecutes or node.no in profile.by_step):
            continue
        edits = profile.edits_of(node)
        key = node.provider, node.model, id(edits)
        name, model = names.get(key) or names.setdefault(key, _provider_and_model(node, edits, provider))
        goes_live = name is not None and is_allowed
        is_readable = node.input_ref and (not node.losses or (reexecutes and goes_live))
        if not is_readable or not request_edits.get(id(edits), True):
            # The step keeps its recording, or its outcome depends on the edits.
            return None
        if name is not None and is_allowed:
            providers.by_step[node.no] = name, model
        else:
            providers.models_without[node.no] = model
    return providers


def _other_edits(graph: Graph, profile: AppliedProfile) -> tuple[Hashable, Hashable]:
    """Edits of steps other than models: exactly, and without the output that a tool is given."""
    edited_steps = [(graph.by_no[no], edits) for no, edits in sorted(profile.by_step.items(), key=itemgetter(0))]
    other_edits = [(node, edits) for node, edits in edited_steps if node.type is not StepType.MODEL]
    texts = {id(edits): repr(edits) for edits in {id(edits): edits for _, edits in other_edits}.values()}
    exact = tuple((node.no, texts[id(edits)]) for node, edits in other_edits)
    if graph.witnesses or not graph.is_flat:
        return exact, exact
    digests = {id(edits): _given_digest(edits) for edits in {id(edits): edits for _, edits in other_edits}.values()}
    return exact, tuple(
        (
            node.no,
            texts[id(edits)]
            if (given_output := digests[id(edits)]) is None or edits.tool is None or node.losses
            else (edits.entries, edits.tool.status, given_output == node.output_ref),
        )
        for node, edits in other_edits
    )


def _given_digest(edits: Edits) -> str | None:
    """Digest of a tool's overridden output, if the edits do nothing else."""
    if edits.tool is None or replace(edits, entries=(), tool=None) != Edits():
        return None
    return Splitter().split(edits.tool.output)


def _edits_request_only(edits: Edits) -> bool:
    """True if edits change a model's request and nothing else."""
    bare = replace(edits, entries=(), model={}, prompt={}, messages=())
    return bare == Edits() and edits.prompt.keys() <= _REQUEST_PROMPT_FIELDS


def _provider_and_model(node: Node, edits: Edits, provider: Provider) -> tuple[str | None, str]:
    override = edits.model.get("provider")
    model = str(edits.model.get("model", node.model))
    name = str(override) if override is not None else node.provider
    return provider(name, model, None if override is None else str(override)), model


def _with_costs(shared_outlook: Outlook, serving_models: Mapping[int, tuple[str, str]], price: Price) -> Outlook:
    """The shared result with this plan's model costs."""
    costs, changed = dict(shared_outlook.costs), dict[int, float | None]()
    for number, node in shared_outlook.live_steps:
        if node.no in serving_models:
            cost = price(*serving_models[node.no], node.tokens_in, node.tokens_out)
            if cost != costs[number]:
                costs[number] = changed[node.no] = cost
    if not changed:
        return shared_outlook
    steps = [
        replace(step, cost_usd=changed[step.sequence_no]) if step.sequence_no in changed else step
        for step in shared_outlook.steps or ()
    ]
    return replace(shared_outlook, costs=costs, steps=steps)
