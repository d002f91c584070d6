"""How a running agent's calls of providers are answered: as recorded, by an override, by an equal call, or live."""

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from replay.core.errors import SessionConflict
from replay.execution import leases, observers
from replay.execution.session_redaction import SessionRedaction
from replay.models import ReplaySession, Rerun, RerunCall
from replay.overrides.edits import OverrideValue
from replay.reruns import claims, exchanges, forks, recordings, sources, starts
from replay.reruns.core.built_responses import StepAnswer
from replay.reruns.core.explanations import difference_fields, explain_miss
from replay.reruns.core.matcher import Divergence, Match, Matcher
from replay.reruns.core.recorded_calls import RecordedCalls, RecordedRequest, call_of_lane
from replay.reruns.core.renaming import Renaming
from replay.reruns.exchanges import Exchange
from replay.reruns.forks import EditedRequest
from replay.reruns.recordings import RecordedResponse, Recording, strict_fields
from replay.reruns.requests.agent_requests import AgentRequest, UnreadableRequest
from replay.reruns.requests.request_formats import CannotEdit
from replay.reruns.resolutions import CallInFlight, CallRefusal, Resolution
from replay.reruns.shared_answers import model_calls
from replay.store import call_cache
from traces.call_index import ignore_lists
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, StepType
from traces.signatures.call_signatures import signature
from traces.signatures.ignore_rules import IgnoreRules

# Recorded calls that may differ in what steps do not store.
_READ_ATTEMPTS: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    """The grounds of an answer. Without a response the call goes live, or is refused if there is a refusal."""

    label: Label | None = None
    reason: Reason | None = None
    response: RecordedResponse | None = None
    detail: JSONObject = field(default_factory=dict)
    refusal: str = ""
    # Whether the budget refuses it.
    is_over_budget: bool = False
    # The call of an earlier start of the agent that got this answer.
    call: RerunCall | None = None


def resolve(id: UUID, request: AgentRequest, *, owner: str = "", attempt: int | None = None) -> Resolution:
    """Decide how a call is answered; raise `CallRefusal` if nothing may answer it.

    `owner` is the process that makes a live call; `attempt` is the start of the agent that makes the request. Raise
    `SessionConflict` if that start or the rerun has ended, and `CallInFlight` while the answer comes.
    A recording contains what its app's policy allows, so the call is compared as it would be stored.
    """
    source = sources.source_of(id)
    recording = recordings.load(source.run_id)
    if resolution := _answer_as_recorded(id, request, recording, needs_storing=source.needs_exchanges):
        return resolution
    with transaction.atomic():
        rerun = Rerun.objects.select_for_update().get(id=id)
        if rerun.ended_at is not None:
            raise SessionConflict("it has ended")
        starts.require(rerun, attempt)
        resolver = _Resolver(rerun, source.app, recording)
        result: Match | Divergence = Divergence()
        try:
            result = resolver.match(request)
            edited_request = resolver.edit(request, result)
            answer = resolver.answer(request, edited_request, result)
        except (CannotEdit, UnreadableRequest) as problem:
            edited_request, answer = EditedRequest(), _Answer(refusal=str(problem))
        call, is_repeated = _save(rerun, result, answer, edited_request, owner=owner)
    if answer.refusal:
        raise CallRefusal(answer.refusal, call_id=call.id if rerun.profile_id is not None else None)
    # An answer of an earlier start has its place among what the agent does now.
    is_stored = answer.response is not None and call.exchange is not None and not is_repeated
    needs_storing = rerun.profile_id is not None and not is_stored
    return Resolution(
        response=answer.response,
        row=call.id,
        body=edited_request.body,
        provider=edited_request.provider,
        call_id=call.id if needs_storing else None,
        is_exact=answer.label is Label.EXACT,
        no=call.sequence_no,
        earlier_answers=recording.calls.answered_before(result.call) if isinstance(result, Match) else (),
    )


def _answer_as_recorded(
    id: UUID, request: AgentRequest, recording: Recording, *, needs_storing: bool
) -> Resolution | None:
    """Answer a call whose bytes are recorded, unless it needs a closer look."""
    for call in recording.calls.of_kind(request.tool_api).by_sent_digest.get(request.digest, ()):
        if recording.calls.of_kind(request.tool_api).rivals_of(call):
            return None
        response = recordings.source_response(recording.run_id, call.no, rerun_id=id)
        if response is not None and (call_id := claims.claim(id, call.no)):
            return Resolution(
                response=response,
                row=call_id,
                call_id=call_id if needs_storing else None,
                is_exact=True,
                no=call.no,
                earlier_answers=recording.calls.answered_before(call),
            )
    return None


class _Resolver:
    """Answers one call of a rerun whose row is locked."""

    def __init__(self, rerun: Rerun, app: str, recording: Recording) -> None:
        self._rerun = rerun
        self._app = app
        self._recording = recording
        self._fork = forks.load(rerun.id) if rerun.profile_id is not None else None
        self._renaming = Renaming.from_pairs(rerun.names)

    @cached_property
    def _redaction(self) -> SessionRedaction:
        return SessionRedaction(self._app)

    @cached_property
    def _ignoring(self) -> IgnoreRules:
        return ignore_lists.to_rules(ignore_lists.active(self._app))

    def match(self, request: AgentRequest) -> Match | Divergence:
        """Return the recorded call that a request is, or why it is none."""
        if match := self._match_bytes(request):
            return match
        matcher = Matcher(
            calls=self._recorded_calls(request),
            used_numbers={no for no in self._used_numbers() if no is not None},
            renaming=self._renaming,
            reduce=partial(self._reduce, request),
            is_meant=exchanges.values_of_fork(self._rerun),
            lane=request.lane,
        )
        # What the policy allowed to be stored needs no second look, and most calls of an unchanged agent are that.
        as_sent = request.input, self._strict_fields(request, has_headers=self._recording.has_headers)
        result = matcher.match_equal(*as_sent, request.content_digest) or matcher.match(
            *self._comparable(request, has_headers=self._recording.has_headers), request.content_digest
        )
        if isinstance(result, Match) and result.renames:
            Rerun.objects.filter(id=self._rerun.id).update(names=self._renaming.pairs())
        return result

    def _match_bytes(self, request: AgentRequest) -> Match | None:
        """Return the call left that was recorded with these very bytes: they need not be read."""
        recorded_calls = self._recorded_calls(request)
        if not (calls := recorded_calls.by_sent_digest.get(request.digest, ())):
            return None
        used_numbers = {*self._used_numbers().filter(sequence_no__range=(calls[0].no, calls[-1].no))}
        call = call_of_lane([call for call in calls if call.no not in used_numbers], request.lane)
        return None if call is None else Match(call=call, is_equal=True, rivals=recorded_calls.rivals_of(call))

    def _used_numbers(self) -> QuerySet[RerunCall, int | None]:
        """Return the recorded calls that the agent has made since it was started."""
        return self._rerun.calls.filter(attempt=self._rerun.attempt).values_list("sequence_no", flat=True)

    def edit(self, request: AgentRequest, result: Match | Divergence) -> EditedRequest:
        """Apply the overrides of a fork from its start on."""
        place = self._place(result)
        if self._fork is None or not self._fork.has_edits or request.tool_api or place < self._fork.start:
            return EditedRequest()
        return self._fork.edit(self._rerun, request, result, place)

    def answer(self, request: AgentRequest, edited_request: EditedRequest, result: Match | Divergence) -> _Answer:
        """Return the first answer of the chain."""
        if edited_request.output is not None:
            return self._override_answer(request, edited_request.output)
        is_forked = self._fork is not None and self._place(result) >= self._fork.start
        is_edited = edited_request.body is not None or edited_request.provider != ""
        is_recorded = isinstance(result, Match) and not is_edited
        if is_forked and self._rerun.is_live:
            # What is another call by its content gets an answer of its own where it may.
            is_recorded = is_recorded and not (isinstance(result, Match) and result.has_other_content)
        needs_new_answer = is_forked and self._is_reexecution and not request.tool_api
        if isinstance(result, Match) and is_recorded and not needs_new_answer:
            return self._recorded_answer(request, result)
        if request.tool_api and (answer := self._same_answer(request)):
            return answer
        if not is_forked:
            # Before the change of a fork, and in a comparison, only the recording itself answers.
            may_look_elsewhere = self._fork is None and not request.tool_api
            answer = self._cached_answer(request, is_elsewhere=True) if may_look_elsewhere else None
            return answer or _Answer(refusal=self._explanation(result))
        request = request.with_edits(edited_request.body, edited_request.provider)
        known_answer = self._repeated_answer(request, result) or self._known_answer(request)
        return known_answer or self._live_answer(request, result)

    @cached_property
    def _session(self) -> ReplaySession | None:
        """The replay that the rerun belongs to; None if a user started it."""
        return ReplaySession.objects.filter(rerun=self._rerun).only("policy").first()

    @property
    def _is_reexecution(self) -> bool:
        """Whether every call from the fork on gets a new answer: a sample that reuses an answer is none."""
        return self._rerun.is_live and self._session is not None and self._session.policy["order"] == "reexecute"

    def _place(self, result: Match | Divergence) -> int:
        """Return the number of the recorded step that a call is, or in whose place it stands."""
        call = result.call if isinstance(result, Match) else result.nearest
        last = max((request.no for request in self._recording.calls.requests), default=0)
        return last + 1 if call is None else call.no

    def _recorded_answer(self, request: AgentRequest, match: Match) -> _Answer:
        if (response := self._response(self._rerun.source_run_id, match.call.no, request)) is None:
            return _Answer(refusal=request.form_refusal(recordings.step_name(self._recording.run_id, match.call.no)))
        if match.is_exact:
            return _Answer(label=Label.EXACT, reason=Reason.SOURCE_OUTPUT_REUSED, response=response)
        detail: JSONObject = {"mapped": [[old, new] for _, old, new in match.renames], **self._ignoring.key}
        if match.rivals:
            detail["equal_steps"] = [*match.rivals]
        if match.has_other_content:
            detail["has_other_content"] = True
        return _Answer(label=Label.CACHED, reason=Reason.CACHE_NORMALISED, response=response, detail=detail)

    def _same_answer(self, request: AgentRequest) -> _Answer | None:
        """Give a recorded answer once more: without a model, the same call has the same answer."""
        input, strict = self._comparable(request, has_headers=self._recording.has_headers)
        key = RecordedRequest(no=0, request=input, strict=strict).digest
        calls = self._recorded_calls(request).by_digest.get(key)
        run_id = self._rerun.source_run_id
        # The last one: those before it may have failed.
        if not calls or (response := self._response(run_id, calls[-1].no, request)) is None:
            return None
        detail: JSONObject = {"matched": {"run": str(run_id), "step": calls[-1].no}}
        return _Answer(label=Label.CACHED, reason=Reason.CACHE_SIGNATURE, response=response, detail=detail)

    def _override_answer(self, request: AgentRequest, override: OverrideValue) -> _Answer:
        output = as_object(override.answer)
        answer = StepAnswer(output=output, model=request.model, id=self._rerun.id.hex, tokens_in=0, tokens_out=0)
        response = request.build_response(answer)
        if response is None:
            return _Answer(refusal=request.form_refusal("the override"))
        return _Answer(label=Label.SIMULATED, reason=Reason.OPERATOR_OVERRIDE, response=response)

    def _repeated_answer(self, request: AgentRequest, source_result: Match | Divergence) -> _Answer | None:
        """Give the answer that the same call got live before the agent was started again."""
        calls = self._rerun.calls.filter(reason=Reason.LIVE_MODEL, attempt__lt=self._rerun.attempt)
        earlier_exchanges = [Exchange(call) for call in calls.exclude(exchange=None).order_by("id")]
        known_exchanges = [item for item in earlier_exchanges if item.has_answer or not item.is_complete]
        names, known_calls = Renaming(), RecordedCalls([item.request for item in known_exchanges])
        matcher = Matcher(calls=known_calls, renaming=names, lane=request.lane)
        result = matcher.match(*self._comparable(request, has_headers=True), request.content_digest)
        if isinstance(result, Divergence) or result.has_other_content:
            return None
        exchange = next(item for item in known_exchanges if item.call.id == result.call.no)
        if not exchange.is_complete:
            return self._unfinished_call(exchange.call, request, source_result)
        if exchange.response is None:
            return _Answer(refusal="its answer was redacted when it was stored, so that it cannot be given again")
        response = exchange.response.rename(names)
        return _Answer(label=Label.SIMULATED, reason=Reason.LIVE_MODEL, response=response, call=exchange.call)

    def _unfinished_call(self, call: RerunCall, request: AgentRequest, result: Match | Divergence) -> _Answer:
        """Wait for the answer of a call, or make it once more if the process that made it is gone."""
        if call.owner and not leases.is_dead(call.owner):
            raise CallInFlight(call.id)
        live_answer = _Answer(label=Label.SIMULATED, reason=Reason.LIVE_MODEL, detail=call.detail, call=call)
        return self._block(request, result) or live_answer

    def _known_answer(self, request: AgentRequest) -> _Answer | None:
        """Give the answer that the same call got elsewhere; a sample of a model is a new one."""
        if self._is_reexecution and not request.tool_api:
            return None
        sources = None if self._session is None else observers.shared_recordings(self._session.id)
        if sources is None:
            return None if request.tool_api else self._cached_answer(request)
        question = model_calls.Question(
            request=request,
            comparable=lambda has_headers: self._comparable(request, has_headers=has_headers),
            reduce=partial(self._reduce, request),
            is_meant=exchanges.values_of_fork(self._rerun),
        )
        answer = model_calls.find(self._rerun, question, sources)
        if isinstance(answer, model_calls.PendingCall):
            raise CallInFlight(answer.call_id)
        if answer is None:
            return None
        reason = Reason.CACHE_SIGNATURE if answer.is_exact else Reason.CACHE_NORMALISED
        return _Answer(label=Label.CACHED, reason=reason, response=answer.response, detail=answer.detail)

    def _cached_answer(self, request: AgentRequest, *, is_elsewhere: bool = False) -> _Answer | None:
        """Give the recorded answer of the same call in any run of the app, or only in another one."""
        input, _ = self._comparable(request, has_headers=False)
        key = signature(type=StepType.MODEL, name="", input=input, provider=request.provider, model=request.model)
        run, steps = (self._rerun.source_run_id, self._steps_elsewhere()) if is_elsewhere else (None, [])
        for _ in range(_READ_ATTEMPTS):
            if (hit := call_cache.lookup(self._app, key, exclude=steps, exclude_run=run)) is None:
                return None
            run_id, no = UUID(str(hit.location["run"])), int(str(hit.location["step"]))
            if recordings.may_be_of(run_id, no, request.headers, request.content_digest):
                response = self._response(run_id, no, request)
                break
            steps.append(UUID(str(hit.location["id"])))
        else:
            return None
        if response is None:
            return None
        detail: JSONObject = {"matched": hit.location}
        return _Answer(label=Label.CACHED, reason=Reason.CACHE_SIGNATURE, response=response, detail=detail)

    def _steps_elsewhere(self) -> list[UUID]:
        """Return the steps of other runs that have answered: each does so once, or an agent could ask without end."""
        calls = self._rerun.calls.filter(attempt=self._rerun.attempt, detail__matched__id__isnull=False)
        return [UUID(id) for id in calls.values_list("detail__matched__id", flat=True)]

    def _live_answer(self, request: AgentRequest, result: Match | Divergence) -> _Answer:
        if not self._rerun.is_live:
            return _Answer(refusal=f"{self._explanation(result)}; `live` allows calls of the provider")
        detail: JSONObject = {"note": self._explanation(result)}
        live_answer = _Answer(label=Label.SIMULATED, reason=Reason.LIVE_MODEL, detail=detail)
        return self._block(request, result) or live_answer

    def _block(self, request: AgentRequest, result: Match | Divergence) -> _Answer | None:
        """Return the refusal of a live call beyond the budget; else None, and the call counts."""
        provider, model, step = request.provider, request.model, self._place(result)
        block = exchanges.begin_live_call(self._rerun, self._session, provider=provider, model=model, step=step)
        return _Answer(refusal=block, is_over_budget=True) if block else None

    def _response(self, run_id: UUID, no: int, request: AgentRequest) -> RecordedResponse | None:
        """Return the response as it came, or one with the same content in the form that the agent asks for."""
        if run_id == self._recording.run_id:
            response = recordings.source_response(run_id, no, rerun_id=self._rerun.id)
        else:
            response = recordings.load_response(run_id, no)
        if response is None or not request.reads(response):
            answer = recordings.load_answer(run_id, no)
            response = None if answer is None else request.build_response(answer)
        return response and response.rename(self._renaming)

    def _recorded_calls(self, request: AgentRequest) -> RecordedCalls:
        """Return the recorded calls of the same kind."""
        return self._recording.calls.of_kind(request.tool_api)

    def _reduce(self, request: AgentRequest, input: JSONObject) -> JSONObject:
        """Return the input of a request without the fields that the app's calibration ignores."""
        if not self._ignoring.rules:
            return input
        return as_object(self._ignoring.reduce(request.step_type, request.tool_api, input))

    def _comparable(self, request: AgentRequest, *, has_headers: bool) -> tuple[JSONObject, JSONObject]:
        """Return the input and the strict fields of a request, as they are compared with recorded ones."""
        input = as_object(self._redaction.field(request.step_type, "input", request.input))
        return input, self._strict_fields(request, has_headers=has_headers)

    def _strict_fields(self, request: AgentRequest, *, has_headers: bool) -> JSONObject:
        headers = request.headers if has_headers else {}
        return strict_fields(request.provider, request.model, request.api, headers, request.input)

    def _explanation(self, result: Match | Divergence) -> str:
        if isinstance(result, Match) and self._is_reexecution:
            return f"the policy asks for a new answer to step {result.call.no}"
        return explain_miss(result, self._rerun.source_run_id)


def _save(
    rerun: Rerun, result: Match | Divergence, answer: _Answer, edited_request: EditedRequest, *, owner: str
) -> tuple[RerunCall, bool]:
    """Store how a call is answered, in place of what an earlier start of the agent did with the same step.

    Return the call, and whether an earlier start made it.
    """
    call = answer.call
    no = result.call.no if isinstance(result, Match) else None
    if call is None:
        call = _earlier_call(rerun, no, answer) or RerunCall(rerun=rerun, sequence_no=no)
    call.label, call.reason = answer.label or "", answer.reason or ""
    call.difference = difference_fields(result) or None
    refusal = {"refusal": answer.refusal} if answer.refusal else {}
    block = {"block": answer.refusal} if answer.is_over_budget else {}
    results = {"results": [*edited_request.results]} if edited_request.results else {}
    history = {forks.HISTORY: edited_request.history.to_json()} if edited_request.history else {}
    call.detail = {**answer.detail, **refusal, **block, **results, **history}
    is_repeated, call.attempt = call.attempt != rerun.attempt and call.id is not None, rerun.attempt
    call.owner = owner if answer.reason is Reason.LIVE_MODEL and answer.response is None else ""
    call.save()
    return call, is_repeated


def _earlier_call(rerun: Rerun, no: int | None, answer: _Answer) -> RerunCall | None:
    """Return the call of an earlier start that got the same answer for a step; forget one that got another answer."""
    if no is None or rerun.attempt == 1:
        return None
    calls = rerun.calls.filter(sequence_no=no)
    call = calls.filter(label=answer.label or "", reason=answer.reason or "").first() if answer.response else None
    (calls.exclude(id=call.id) if call else calls).delete()
    return call
