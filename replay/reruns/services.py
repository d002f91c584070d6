"""Start, resume and end reruns."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import transaction

from diffing import services as diffing
from replay.core.errors import ReplayRefusal, SessionConflict
from replay.models import ReplaySession, Rerun
from replay.models.reruns import AFTER_THE_END
from replay.overrides.profile import OverrideProfile
from replay.reruns import forks, queries, starts
from replay.reruns.derived_run import services as derived_run
from replay.reruns.schemas import RerunBudget
from replay.reruns.tools import consents as tool_consents
from replay.runners import consents, recorded_tools
from replay.saved_profiles import services as library
from replay.sessions.prepare import Source, source_refusal
from replay.sessions.schemas import ReplayRequest
from replay.tool_review.queries import safety_by_tool
from traces.audit import audit_log
from traces.core.json_types import JSONValue
from traces.core.vocabulary import AuditAction, Reason, RunStatus
from traces.http.idempotency import Key, make_once
from traces.runs import deleted_runs
from traces.runs import queries as runs

logger = structlog.get_logger("replay")
_MOST_HOSTS: Final = 100
_MOST_TOOLS: Final = 10_000
_NO_LIMITS: Final = RerunBudget()


def start(
    ref: str,
    *,
    tools_to_run: Sequence[str],
    tools_to_ask: Sequence[str] = (),
    tools_with_hook: Sequence[str] = (),
    is_comparison: bool = False,
    budget: RerunBudget = _NO_LIMITS,
    has_pauses: bool = False,
    caller: str,
    key: Key | None = None,
    body: JSONValue = None,
) -> Rerun:
    """Open a rerun of a run; raise `ReplayRefusal` if its recording cannot answer, or a tool lacks consent.

    `tools_to_run` may run where the recording has no such call, whatever their review says. Tools that nothing
    intercepts run in any case, so each of them has to be among these or `tools_with_hook`, or reviewed as safe.
    A comparison becomes a run of its own if it differs from the recording. Repeating an idempotency key with the same
    `body` of a request returns the rerun that it opened.
    """
    run = runs.newest_revision(runs.find_run(ref))
    if refusal := source_refusal(run):
        raise ReplayRefusal(refusal)
    # Another run of the app may answer where the recording does not, but not in a comparison.
    consents.require(run, is_open=not is_comparison, allowed_names=tools_to_run, hooked_names=tools_with_hook)
    rerun = Rerun(
        source_run=run,
        tools_to_run=[*tools_to_run],
        tools_to_ask=[*tools_to_ask],
        tools_with_hook=[*tools_with_hook],
        has_pauses=has_pauses,
        by=caller,
        **_limits(budget),
    )
    if is_comparison:
        rerun.profile = library.store_profile(OverrideProfile(overrides=[]))
        rerun.fork_sequence_no = run.step_count + AFTER_THE_END
    return _open(rerun, key, body)


def start_fork(
    request: ReplayRequest,
    *,
    tools_to_run: Sequence[str],
    tools_to_ask: Sequence[str] = (),
    tools_with_hook: Sequence[str] = (),
    budget: RerunBudget = _NO_LIMITS,
    has_pauses: bool = False,
    caller: str,
    key: Key | None = None,
    body: JSONValue = None,
) -> Rerun:
    """Open a rerun that changes something; raise `ReplayRefusal` if it cannot, or a tool lacks consent."""
    run = runs.newest_revision_with_steps(runs.find_run(request.run))
    source = Source(str(run.id), request.fork_step)
    if refusal := source_refusal(source.run):
        raise ReplayRefusal(refusal)
    forks.check(source.run.id, source.fork, request.overrides)
    is_live = "model" in request.policy.allow
    is_open = is_live or bool(request.overrides.overrides)
    consents.require(source.run, is_open=is_open, allowed_names=tools_to_run, hooked_names=tools_with_hook)
    rerun = Rerun(
        source_run=source.run,
        tools_to_run=[*tools_to_run],
        tools_to_ask=[*tools_to_ask],
        tools_with_hook=[*tools_with_hook],
        has_pauses=has_pauses,
        by=caller,
        profile=library.store_profile(request.overrides),
        fork_sequence_no=source.fork,
        is_live=is_live,
        **_limits(budget),
    )
    return _open(rerun, key, body)


def _open(rerun: Rerun, key: Key | None, body: JSONValue) -> Rerun:
    def make() -> str:
        deleted_runs.hold([rerun.source_run_id])
        rerun.save()
        run, step = str(rerun.source_run_id), rerun.fork_sequence_no
        audit_log.append(AuditAction.RERUN_STARTED, rerun.id, by=rerun.by, run=run, step=step, is_live=rerun.is_live)
        return str(rerun.id)

    rerun_id = make_once("rerun", key, body, make)
    return rerun if rerun_id == str(rerun.id) else Rerun.objects.get(id=rerun_id)


def real_tools(rerun: Rerun) -> list[str]:
    """Return the tools that the agent of a rerun really runs, because nothing intercepts them."""
    hooked_names = rerun.tools_with_hook
    names = recorded_tools.find_unintercepted(rerun.source_run, is_open=_is_open(rerun), hooked_names=hooked_names)
    return [name for name in names if name not in hooked_names]


def reviewed_tools(names: Sequence[str]) -> list[str]:
    """Return those of these tools that were reviewed as safe."""
    reviews = safety_by_tool() if names else {}
    return [name for name in names if reviews.get(name)]


def _is_open(rerun: Rerun) -> bool:
    """Return whether a model may answer differently than recorded."""
    has_overrides = rerun.profile is not None and bool(rerun.profile.profile["overrides"])
    return rerun.profile is None or rerun.is_live or has_overrides


def _limits(budget: RerunBudget) -> dict[str, Any]:
    return {"budget": budget.model_dump(exclude_none=True), "deadline_at": _deadline(budget)}


def _deadline(budget: RerunBudget) -> datetime | None:
    return None if budget.deadline_s is None else datetime.now(UTC) + timedelta(seconds=budget.deadline_s)


def resume(rerun: Rerun, *, tools_to_run: Sequence[str] = ()) -> Rerun:
    """Start the agent of a fork again: it gets the answers that it got before.

    `tools_to_run` may run from now on, too: an answer that calls one of them, and did not reach the agent, reaches it
    now. Raise `SessionConflict`, or `ReplayRefusal` if a tool lacks consent by now.
    """
    if rerun.profile_id is None:
        raise SessionConflict("this rerun changes nothing, so start it again from the beginning")
    if tools_to_run and ReplaySession.objects.filter(rerun=rerun).exists():
        raise SessionConflict("its runner decides which tools may run: start the runner with --allow-tool")
    consents.require(
        rerun.source_run,
        is_open=_is_open(rerun),
        allowed_names=[*rerun.tools_to_run, *tools_to_run],
        hooked_names=rerun.tools_with_hook,
    )
    with transaction.atomic():
        deleted_runs.hold([rerun.source_run_id])
        rerun = Rerun.objects.select_for_update().get(id=rerun.id)
        if rerun.exit_code == 0 and not _lacks_answer(rerun):
            raise SessionConflict("its agent has ended successfully")
        rerun.tools_to_run = [*dict.fromkeys([*rerun.tools_to_run, *tools_to_run])]
        begin_again(rerun)
    return rerun


def note_host(rerun: Rerun, host: str) -> None:
    """Store that the agent asked for a host outside the gateway."""
    with transaction.atomic():
        rerun = Rerun.objects.select_for_update().get(id=rerun.id)
        if host not in rerun.hosts and len(rerun.hosts) < _MOST_HOSTS:
            rerun.hosts.append(host)
            rerun.save(update_fields=["hosts"])


def note_tools(id: UUID, names: Collection[str], *, attempt: int) -> None:
    """Store that the agent asks about these tools before they run; raise `SessionConflict` if it was started again."""
    with transaction.atomic():
        rerun = Rerun.objects.select_for_update().get(id=id)
        starts.require(rerun, attempt)
        known_names = dict.fromkeys([*rerun.tools_that_ask, *names])
        rerun.tools_that_ask = [*known_names][:_MOST_TOOLS]
        rerun.save(update_fields=["tools_that_ask"])


def begin_again(rerun: Rerun) -> None:
    """Open a rerun for another start of its agent."""
    rerun.attempt += 1
    rerun.deadline_at = _deadline(RerunBudget.model_validate(rerun.budget))
    rerun.names, rerun.tools_that_ask = [], []
    rerun.ended_at, rerun.exit_code, rerun.run, rerun.diff_id = None, None, None, None
    rerun.save()


def end(rerun: Rerun, exit_code: int, *, writes_run: bool = False) -> Rerun:
    """Record how the agent ended, and write the run of a fork, and of a comparison that differs. The first end counts.

    With `writes_run`, a comparison becomes a run even if it does not differ.
    """
    with transaction.atomic():
        # A deletion of the source ends its reruns, in the same order of locks.
        deleted_runs.lock([rerun.source_run_id])
        rerun = Rerun.objects.select_for_update(of=("self",)).select_related("source_run", "profile").get(id=rerun.id)
        if rerun.ended_at is not None:
            return rerun
        rerun.ended_at, rerun.exit_code = datetime.now(UTC), exit_code
        if rerun.profile is not None and (writes_run or not rerun.is_comparison or _differs(rerun)):
            rerun.run = derived_run.write(rerun, RunStatus.FAILED if exit_code else RunStatus.COMPLETED)
        rerun.save()
        if exit_code == 0 and not _lacks_answer(rerun):
            # An agent that failed can be started again, and then gets these answers.
            rerun.calls.update(exchange=None)
            rerun.reports.all().delete()
    if rerun.run is not None:
        _compare(rerun, rerun.run.id)
    return rerun


def _differs(rerun: Rerun) -> bool:
    """Return whether the agent of a comparison made other calls than recorded, or its checks decided differently."""
    return not queries.is_as_recorded(rerun) or derived_run.changes_checks(rerun)


def _lacks_answer(rerun: Rerun) -> bool:
    """Return whether a live answer did not reach the agent in its last start, because it calls a tool without consent.

    Not every agent fails then.
    """
    live_calls = rerun.calls.filter(attempt=rerun.attempt, reason=Reason.LIVE_MODEL)
    return live_calls.filter(detail__has_key=tool_consents.REFUSAL).exists()


def _compare(rerun: Rerun, run_id: UUID) -> None:
    """Diff source and fork; a diff that fails is logged and can be requested again at any time."""
    try:
        report = diffing.diff(base_id=rerun.source_run_id, candidate_id=run_id, by=rerun.by)
    except Exception:
        logger.exception("diff_failed", rerun=str(rerun.id))
        return
    rerun.diff_id = report.id
    Rerun.objects.filter(id=rerun.id).update(diff_id=report.id)
