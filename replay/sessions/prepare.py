"""From a request to its plan: parsing with pointers, the source's fitness, and everything that planning looks up."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache as cache_of
from functools import cached_property
from typing import Final
from uuid import UUID

from replay.core.applied_profile import changes_anything
from replay.core.calls import CachedAnswer, Call, RetrieverMatch, ToolReview
from replay.core.graph import Graph
from replay.core.plan import Plan, PlanRefusal
from replay.hooks import configuration
from replay.live import pricing, retrieval, tools
from replay.live.availability import match_retriever, provider_name
from replay.planning import plan_environment, planner
from replay.planning.plan_cache import PlanCache
from replay.planning.structural import refuse_structural
from replay.planning.unrecorded_requests import StoredRequests
from replay.saved_profiles import queries as library
from replay.sessions.schemas import ReplayRequest
from replay.store import call_cache
from replay.store.fork import build_fork
from replay.store.graph_loader import find_losses, load_first_model, load_graph, load_steps
from replay.store.payload_reader import Payloads
from replay.tool_review import queries as tool_review_queries
from traces.call_index import ignore_lists
from traces.core.gc_pause import without_pauses
from traces.core.json_types import JSONValue
from traces.errors import NotFound
from traces.http.bodies import parsed
from traces.models import Run
from traces.payloads.lost_payloads import LostPayloads
from traces.runs import queries

# In steps: a graph weighs about 1 kB a step, so these are some 30 MB, and reading one takes 20 microseconds a step.
_GRAPHS: Final[PlanCache[Graph]] = PlanCache(capacity=30_000, seconds=60.0)
_LOST: Final[PlanCache[dict[int, LostPayloads]]] = PlanCache(capacity=30_000, seconds=60.0)
_LONG: Final = 2_000  # steps; graphs of shorter runs have witnesses, which other runs are
_BLOCKED: Final = frozenset({"blocked", "failed"})


@dataclass(frozen=True, kw_only=True)
class PreparedReplay:
    """A request with what it refers to, and its plan."""

    run: Run
    fork: int
    request: ReplayRequest
    plan: Plan


def parse(body: JSONValue) -> ReplayRequest:
    """A request from JSON; raises `InvalidReplay` naming the place, and `NotFound` for a name that nothing has."""
    said = library.insert_documents(body)
    refuse_structural(said.get("overrides") if isinstance(said, dict) else None, "/overrides")
    return parsed(ReplayRequest, said)


def prepare(
    request: ReplayRequest, *, brief: bool = False, untouched: bool = True, kept: bool = False
) -> PreparedReplay:
    """Find the source and plan; raises `NotFound` for an unknown run or fork step.

    Without the `untouched` ones a plan counts the steps that nothing reaches, and does not list them. A brief one
    neither, and says of the others what becomes of them, not why.
    """
    return Source(request.run, request.fork_step, kept=kept).prepare(request, brief=brief, untouched=untouched)


class Source:
    """A run and a fork in it, with what plans look up there: read once, however many plans are made."""

    def __init__(self, run: str, fork_step: str | int | None, *, kept: bool = False) -> None:
        """`kept`: what was read of a long run within the last minute will do, as for a preview."""
        self.run = queries.find_run(run)
        self.fork = _fork(self.run, fork_step)
        self._payloads = Payloads()
        self._kept = kept and self.run.sealed_at is not None and self.run.step_count > _LONG

    @without_pauses()
    def prepare(self, request: ReplayRequest, *, brief: bool = False, untouched: bool = True) -> PreparedReplay:
        if (refusal := source_refusal(self.run)) is not None:
            plan = planner.empty_plan(self.fork, request.policy, [refusal])
        else:
            plan = _told(self._plan(request, brief=brief, untouched=untouched))
        return PreparedReplay(run=self.run, fork=self.fork, request=request, plan=plan)

    def _plan(self, request: ReplayRequest, *, brief: bool, untouched: bool) -> Plan:
        if not untouched and not changes_anything(request.overrides, request.policy):
            models = load_first_model(self.run.id, self.fork)
            lost = load_steps(self.run.id, [no for no in self._lost if no >= self.fork], self._lost)
            return planner.plan_unchanged(self.fork, self.run.step_count, models, request.policy, self._lookups, lost)
        fork = build_fork(self._graph, request.overrides, request.policy, self._payloads)
        return planner.plan(fork.graph, fork.profile, fork.policy, self._lookups, brief=brief, untouched=untouched)

    @cached_property
    def _graph(self) -> Graph:
        key = self.run.id, self.fork
        if self._kept and (known := _GRAPHS.get(key)) is not None:
            return known
        graph = load_graph(self.run.id, self.fork, self._lost)
        if self._kept:
            _GRAPHS.put(key, graph, weight=len(graph.nodes))
        return graph

    @cached_property
    def _lost(self) -> dict[int, LostPayloads]:
        if self._kept and (known := _LOST.get(self.run.id)) is not None:
            return known
        lost = find_losses(self.run.id, self.run.step_count)
        if self._kept:
            _LOST.put(self.run.id, lost, weight=1 + len(lost))
        return lost

    @cached_property
    def _lookups(self) -> plan_environment.Sources:
        found = sources(self.run, self._payloads)
        return replace(found, provider=cache_of(found.provider), price=cache_of(found.price), lost=self._lost)


def _told(plan: Plan) -> Plan:
    """The plan, with the warning that hooks may have their word where anything is resolved anew."""
    if not configuration.hooks() or all(step.action == "reuse" for step in plan.steps):
        return plan
    warning = "Hooks may deny or change calls, speak to the model or stop it: the plan is made without them."
    return plan.model_copy(update={"warnings": [*plan.warnings, warning]})


def source_refusal(run: Run) -> PlanRefusal | None:
    """Why a run cannot be replayed at all."""
    if run.sealed_at is None:
        detail = f"run {run.id} is still being recorded: it can be forked when it is complete"
        return PlanRefusal(code="source_not_sealed", detail=detail, where="/run")
    redaction = run.metadata.get("redaction") if isinstance(run.metadata, dict) else None
    state = redaction.get("status") if isinstance(redaction, dict) else redaction
    if state in _BLOCKED or run.metadata.get("redaction_status") in _BLOCKED:
        detail = f"the redaction of run {run.id} is {state or run.metadata['redaction_status']}: it cannot be replayed"
        return PlanRefusal(code="privacy_blocked", detail=detail, where="/run")
    if not queries.holds_content(run.id):
        detail = f"the recording of run {run.id} holds neither requests nor answers of its calls: nothing can be reused"
        return PlanRefusal(code="artifact_missing", detail=detail, where="/run")
    return None


def sources(run: Run, payloads: Payloads) -> plan_environment.Sources:
    """What planning may look up, for one source run."""

    held = ignore_lists.current(run.app)

    def cached(signature: str, exclude: Collection[UUID]) -> CachedAnswer | None:
        return call_cache.lookup(run.app, signature, exclude=exclude)

    def similar(call: Call, threshold: float) -> CachedAnswer | None:
        return call_cache.similar(run, call.callee, call.input, threshold, held)

    requests = StoredRequests(
        payload=payloads, roots=payloads.roots, is_any_recorded=call_cache.is_any_recorded, ignoring=held
    )
    return plan_environment.Sources(
        payload=payloads,
        roots=payloads.roots,
        requests=requests,
        cached=cached,
        similar=similar,
        provider=provider_name,
        price=_price,
        tool=_Tools(),
        retriever=_Retrievers(),
        ignoring=held,
    )


class _Tools:
    """What is decided about tools, read once for a plan."""

    @cached_property
    def _decided(self) -> dict[str, bool | None]:
        return tool_review_queries.safety_by_tool()

    @cached_property
    def _executors(self) -> dict[str, str]:
        return tools.executors()

    def __call__(self, name: str) -> ToolReview:
        return ToolReview(safe=self._decided.get(name), executor=self._executors.get(name, ""))


class _Retrievers:
    """What is configured, read once for a plan."""

    @cached_property
    def _known(self) -> list[retrieval.Retriever]:
        return list(retrieval.configured_retrievers().values())

    def __call__(self, call: Call) -> RetrieverMatch:
        return match_retriever(call, self._known)


def _price(provider: str, model: str, tokens_in: int | None, tokens_out: int | None) -> float | None:
    cost = pricing.price(provider, model, tokens_in, tokens_out, None, datetime.now(UTC))
    return None if cost is None else float(cost)


def _fork(run: Run, ref: str | int | None) -> int:
    if ref is None:
        return 1
    try:
        return queries.find_step(run, ref).sequence_no
    except NotFound as missing:
        missing.where = "/fork_step"
        raise
