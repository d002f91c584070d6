"""Prepare a replay: parse the request, check the source run, and plan."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache as cache_of
from functools import cached_property
from typing import Final
from uuid import UUID

from replay.core.applied_profile import apply_profile, changes_anything
from replay.core.bounded_cache import BoundedCache
from replay.core.calls import CachedAnswer, Call, RetrieverMatch, ToolReview
from replay.core.graph import Graph, ReplayOutput
from replay.core.plan import Plan, PlanRefusal, UninterceptedTool
from replay.core.vocabulary import Engine
from replay.execution.session_redaction import SessionRedaction
from replay.hooks import configuration
from replay.live import pricing, retrieval, tools
from replay.live.availability import agent_provider_name, match_retriever, provider_name
from replay.overrides.fork_changes import fork_change, no_recorded_call
from replay.planning import plan_environment, planner
from replay.planning.structural import refuse_structural
from replay.planning.unrecorded_requests import StoredRequests
from replay.runners import agent_plans, consents, inherited_changes
from replay.saved_profiles import queries as library
from replay.sessions.schemas import ReplayRequest
from replay.store import call_cache
from replay.store.fork import build_fork
from replay.store.graph_loader import find_replay_outputs, load_first_model, load_graph, load_steps
from replay.store.losses import find_damaged_step, find_losses, is_too_long_to_verify
from replay.store.payload_reader import Payloads
from replay.store.recorded_calls import RecordedCalls
from replay.tool_review import queries as tool_review_queries
from traces.call_index import ignore_lists
from traces.core.gc_pause import without_pauses
from traces.core.json_access import member
from traces.core.json_types import JSONValue
from traces.core.schema import ForkChange
from traces.core.vocabulary import Reason
from traces.errors import NotFound
from traces.http.bodies import parse_body
from traces.ingest.redaction import block_reason
from traces.models import Run
from traces.payloads.lost_payloads import LostPayloads
from traces.runs import queries
from traces.storage import artifacts

# Capacity in steps: a graph needs about 1 kB per step, so this is some 30 MB. Loading takes 20 microseconds per step.
_GRAPHS: Final[BoundedCache[Graph]] = BoundedCache(capacity=30_000, seconds=60.0)
_LOSSES: Final[BoundedCache[dict[int, LostPayloads]]] = BoundedCache(capacity=30_000, seconds=60.0)
# In steps. Graphs of shorter runs contain witnesses, which depend on other runs.
_LONG: Final = 2_000


@dataclass(frozen=True, kw_only=True)
class PreparedReplay:
    """A replay request with its source, source run, fork and plan."""

    source: "Source"

    run: Run
    fork: int
    request: ReplayRequest
    plan: Plan

    @cached_property
    def change(self) -> ForkChange:
        """What the fork changes, in a few words."""
        return self.source.change(self.request)


def parse(body: JSONValue) -> ReplayRequest:
    """Parse a request from JSON.

    Raises `InvalidReplay` with a pointer, and `NotFound` for an unknown name.
    """
    resolved_body = library.insert_documents(body)
    refuse_structural(member(resolved_body, "overrides"), "/overrides")
    return parse_body(ReplayRequest, resolved_body)


def prepare(
    request: ReplayRequest,
    *,
    brief: bool = False,
    list_untouched: bool = True,
    use_cache: bool = False,
    verify: bool = False,
) -> PreparedReplay:
    """Find the source run and plan the replay; raises `NotFound` for an unknown run or fork step.

    Without `list_untouched` a plan only counts the steps that no change reaches. A `brief` plan only counts them, too,
    and lists for the other steps what happens to them, but not why. `verify` refuses a replay whose listed steps reuse
    a damaged recording.
    """
    return Source(request.run, request.fork_step, use_cache=use_cache).prepare(
        request, brief=brief, list_untouched=list_untouched, verify=verify
    )


class Source:
    """A source run and fork, with the data that plans need of it; loaded once for any number of plans."""

    def __init__(self, run: str, fork_step: str | int | None, *, use_cache: bool = False) -> None:
        """With `use_cache`, data of a long run read within the last minute is reused, as for previews."""
        self.run = queries.find_run(run)
        self.fork = _fork(self.run, fork_step)
        self._payloads = Payloads()
        self._use_cache = use_cache and self.run.sealed_at is not None and self.run.step_count > _LONG

    @without_pauses()
    def prepare(
        self, request: ReplayRequest, *, brief: bool = False, list_untouched: bool = True, verify: bool = False
    ) -> PreparedReplay:
        tools: list[UninterceptedTool] = []
        lineage_changes: list[str] = []
        if request.engine == "auto":
            engine, tools, lineage_changes = self._choose_engine(request)
            request = request.model_copy(update={"engine": engine})
        if (refusal := source_refusal(self.run)) is not None:
            plan = planner.empty_plan(self.fork, request.policy, [refusal])
        elif request.engine is Engine.AGENT:
            plan = self._agent_plan(request, self._plan(request, brief=brief, list_untouched=list_untouched))
        else:
            plan = _add_hook_warning(self._plan(request, brief=brief, list_untouched=list_untouched))
            plan = agent_plans.followed_plan(plan, tools, lineage_changes)
        # An agent that runs reads each recorded answer when it gets there.
        if verify and request.engine is Engine.FOLLOW and is_too_long_to_verify(self.run.step_count):
            plan = self._with_damage(plan)
        return PreparedReplay(source=self, run=self.run, fork=self.fork, request=request, plan=plan)

    def _with_damage(self, plan: Plan) -> Plan:
        """Add a refusal to a plan that reuses a damaged recording: planning did not read it."""
        numbers = [step.sequence_no for step in plan.steps if step.reason == Reason.SOURCE_OUTPUT_REUSED]
        if (damage := find_damaged_step([self._graph.by_no[no] for no in numbers])) is None:
            return plan
        return plan.model_copy(update={"refusals": [*plan.refusals, planner.missing_refusal(*damage)]})

    def _plan(self, request: ReplayRequest, *, brief: bool, list_untouched: bool) -> Plan:
        is_followed = request.engine is not Engine.AGENT
        lookups = self._lookups if is_followed else self._agent_lookups
        if not list_untouched and not changes_anything(request.overrides, request.policy):
            models = load_first_model(self.run.id, self.fork)
            numbers = {no for no in (*self._losses, *self._replay_outputs) if no >= self.fork}
            other_steps = load_steps(self.run.id, numbers, self._losses, self._replay_outputs)
            return planner.plan_unchanged(self.fork, self.run.step_count, models, request.policy, lookups, other_steps)
        fork = build_fork(self._graph, request.overrides, request.policy, self._payloads)
        return planner.plan(
            fork.graph,
            fork.profile,
            fork.policy,
            lookups,
            brief=brief,
            list_reused=list_untouched,
            is_followed=is_followed,
        )

    def _agent_plan(self, request: ReplayRequest, plan: Plan) -> Plan:
        overrides = apply_profile(request.overrides, self._graph)
        return agent_plans.agent_plan(plan, self.run, overrides, self._graph.by_no, self._unintercepted_tools(request))

    def _choose_engine(self, request: ReplayRequest) -> tuple[Engine, list[UninterceptedTool], list[str]]:
        """Choose for `auto`; return the tools, or else the changes of earlier forks, that keep the agent from running.

        Only if nothing else does.
        """
        if source_refusal(self.run) is not None or not agent_plans.may_choose(self.run, request.policy):
            return Engine.FOLLOW, [], []
        overrides = apply_profile(request.overrides, self._graph)
        if agent_plans.needs_sdk(overrides) or any(agent_plans.refusals(overrides, self._graph.by_no)):
            return Engine.FOLLOW, [], []
        if lineage_changes := inherited_changes.find(self.run):
            return Engine.FOLLOW, [], lineage_changes
        tools = self._unintercepted_tools(request)
        return Engine.AGENT if consents.refusal(tools) is None else Engine.FOLLOW, tools, []

    def _unintercepted_tools(self, request: ReplayRequest) -> list[UninterceptedTool]:
        """Return the tools that really run if the agent does."""
        is_live = "model" in request.policy.allow and not request.policy.strict
        is_open = is_live or bool(request.overrides.overrides)
        return consents.tools_of(self.run, is_open=is_open)

    def change(self, request: ReplayRequest) -> ForkChange:
        """Describe what a request changes in the recording."""
        find_call = RecordedCalls(self._graph, self._payloads) if request.overrides.overrides else no_recorded_call
        return fork_change(request.overrides, request.policy, find_call, SessionRedaction(self.run.app).text)

    @cached_property
    def _graph(self) -> Graph:
        key = self.run.id, self.fork
        if self._use_cache and (cached_graph := _GRAPHS.get(key)) is not None:
            return cached_graph
        graph = load_graph(self.run.id, self.fork, self._losses)
        if self._use_cache:
            _GRAPHS.store(key, graph, weight=len(graph.nodes))
        return graph

    @cached_property
    def _losses(self) -> dict[int, LostPayloads]:
        if self._use_cache and (cached_losses := _LOSSES.get(self.run.id)) is not None:
            return cached_losses
        losses = find_losses(self.run.id, self.run.step_count)
        if self._use_cache:
            _LOSSES.store(self.run.id, losses, weight=1 + len(losses))
        return losses

    @cached_property
    def _lookups(self) -> plan_environment.Sources:
        lookups = sources(self.run, self._payloads)
        return replace(
            lookups,
            provider=cache_of(lookups.provider),
            price=cache_of(lookups.price),
            losses=self._losses,
            replay_outputs=self._replay_outputs,
        )

    @cached_property
    def _agent_lookups(self) -> plan_environment.Sources:
        """The lookups of plans in which the agent runs; they share nothing that depends on who answers live calls."""
        lookups = replace(sources(self.run, self._payloads), provider=cache_of(agent_provider_name))
        return replace(lookups, price=cache_of(lookups.price), losses=self._losses, replay_outputs=self._replay_outputs)

    @cached_property
    def _replay_outputs(self) -> dict[int, ReplayOutput]:
        return find_replay_outputs(self.run.id)


def _add_hook_warning(plan: Plan) -> Plan:
    """Add a warning to the plan if hooks are configured and a step is not simply reused."""
    if not configuration.hooks() or all(step.action == "reuse" for step in plan.steps):
        return plan
    warning = (
        "Hooks may deny or change calls, add messages or stop the replay; the plan does not include their effects."
    )
    return plan.model_copy(update={"warnings": [*plan.warnings, warning]})


def source_refusal(run: Run) -> PlanRefusal | None:
    """Return why a run cannot be replayed at all; None if it can."""
    if run.sealed_at is None:
        detail = f"run {run.id} is still being recorded; fork it once it has ended"
        return PlanRefusal(code="source_not_sealed", detail=detail, where="/run")
    if reason := block_reason(run.metadata):
        detail = f"run {run.id} cannot be replayed, because its redaction failed ({reason})"
        return PlanRefusal(code="privacy_blocked", detail=detail, where="/run")
    if not queries.has_content(run.id):
        detail = f"the recording of run {run.id} contains no requests and no answers, so nothing can be reused"
        return PlanRefusal(code="artifact_missing", detail=detail, where="/run")
    return None


def sources(run: Run, payloads: Payloads) -> plan_environment.Sources:
    """Build the lookups that planning uses, for one source run."""

    ignoring = ignore_lists.current(run.app)

    def cached(signature: str, exclude: Collection[UUID]) -> CachedAnswer | None:
        return call_cache.lookup(run.app, signature, exclude=exclude, source=run.id)

    def similar(call: Call, threshold: float) -> CachedAnswer | None:
        return call_cache.similar(run, call.callee, call.input, threshold, ignoring)

    requests = StoredRequests(
        payload=payloads, roots=payloads.roots, is_any_recorded=call_cache.is_any_recorded, ignoring=ignoring
    )
    return plan_environment.Sources(
        payload=payloads,
        roots=payloads.roots,
        messages=payloads.messages,
        requests=requests,
        stored_messages=artifacts.present,
        cached=cached,
        similar=similar,
        provider=provider_name,
        price=_price,
        tool=_ToolReviews(),
        retriever=_RetrieverLookup(),
        ignoring=ignoring,
    )


class _ToolReviews:
    """Tool reviews, read once per plan."""

    @cached_property
    def _safety(self) -> dict[str, bool | None]:
        return tool_review_queries.safety_by_tool()

    @cached_property
    def _executors(self) -> dict[str, str]:
        return tools.executors()

    def __call__(self, name: str) -> ToolReview:
        return ToolReview(safe=self._safety.get(name), executor=self._executors.get(name, ""))


class _RetrieverLookup:
    """Configured retrievers, read once per plan."""

    @cached_property
    def _retrievers(self) -> list[retrieval.Retriever]:
        return list(retrieval.configured_retrievers().values())

    def __call__(self, call: Call) -> RetrieverMatch:
        return match_retriever(call, self._retrievers)


def _price(provider: str, model: str, tokens_in: int | None, tokens_out: int | None) -> float | None:
    cost = pricing.price(provider, model, tokens_in, tokens_out, None, datetime.now(UTC))
    return None if cost is None else float(cost)


def _fork(run: Run, ref: str | int | None) -> int:
    if ref is None:
        return 1
    try:
        return queries.find_step(run, ref).sequence_no
    except NotFound as error:
        error.where = "/fork_step"
        raise
