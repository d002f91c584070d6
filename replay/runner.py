"""Running a replay session: claim it, walk it, and leave it in one of its end states."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog
from django.db import close_old_connections, connection, transaction

from diffing import services as diffing
from replay import containers, log, ownership, preflight
from replay.edits import apply_profile
from replay.execution import Execution
from replay.loading import Payloads, load_graph
from replay.models import ReplaySession
from replay.overrides import OverrideProfile
from replay.policy import Policy
from replay.problems import CancelRequested, OperatorNeeded, OwnershipLost, Stopped
from replay.walk import Walk
from traces import services as traces
from traces.parts import MissingPart
from traces.vocabulary import RunStatus

logger = structlog.get_logger("replay")
_COMPARED: Final = ("completed_exact", "completed_mixed", "completed_simulated")


def execute(session_id: UUID) -> bool:
    """Work on a session until it ends or waits; true when it completed. A session that is not pending is left alone."""
    owner = ownership.new_owner()
    if not ownership.claim(session_id, owner):
        return False
    with _heartbeat(session_id, owner):
        try:
            return _walk(session_id, owner)
        except OwnershipLost:
            logger.warning("session_taken_over", session_id=str(session_id))
        except OperatorNeeded:
            logger.info("session_waits_for_operator", session_id=str(session_id))
        except CancelRequested:
            _end(session_id, owner, "cancelled")
        except Stopped as stopped:
            _end(session_id, owner, "failed_execution", code=stopped.code, error=str(stopped), step=stopped.step)
        except MissingPart as missing:
            _end(session_id, owner, "failed_execution", code="artifact_missing", error=str(missing))
        except Exception as error:
            # Whatever it was: a session must never stay `running` with nobody working on it.
            logger.exception("session_failed", session_id=str(session_id))
            _end(session_id, owner, "failed_execution", code="internal_error", error=f"{type(error).__name__}: {error}")
            raise
    return False


def compare(session_id: UUID) -> None:
    """Diff source and derived run; a diff that fails is logged and leaves the session as it is."""
    session = ReplaySession.objects.get(id=session_id)
    if session.run_id is None or session.status not in _COMPARED:
        return
    try:
        report = diffing.diff(base_id=session.source_run_id, candidate_id=session.run_id)
    except Exception:
        # The replay is complete without its diff, which can be asked for again at any time.
        logger.exception("diff_failed", session_id=str(session_id))
        return
    with transaction.atomic():
        ReplaySession.objects.filter(id=session_id).update(diff_id=report.id)
        log.say(session_id, "session")


def _walk(session_id: UUID, owner: str) -> bool:
    session = ReplaySession.objects.select_related("source_run", "profile").get(id=session_id)
    overrides = OverrideProfile.model_validate(session.profile.profile)
    policy = Policy.model_validate(session.policy)
    payloads = Payloads()
    execution = Execution(session, owner, policy, payloads)
    execution.open()
    if not preflight.changes_anything(overrides, policy):
        execution.keep_everything()
    else:
        graph = load_graph(session.source_run_id, session.fork_sequence_no)
        profile = apply_profile(overrides, graph)
        preflight.expect(graph, profile, payloads)
        walk = Walk(graph, profile, policy, execution)
        for event in walk.run():
            execution.handle(event, walk)
    execution.finish()
    return True


def _end(
    session_id: UUID, owner: str, status: str, *, code: str = "", error: str = "", step: int | None = None
) -> None:
    """Leave the session in an end state, and its run sealed as failed."""
    with transaction.atomic():
        ended = ReplaySession.objects.filter(id=session_id, owner=owner, status="running").update(
            status=status, error_code=code, error=error, error_sequence_no=step, current="", owner="",
            ended_at=datetime.now(UTC),
        )  # fmt: skip
        if not ended:
            return
        columns = ("run_id", "fork_sequence_no")
        run_id, fork = ReplaySession.objects.values_list(*columns).get(id=session_id)
        if run_id is not None:
            containers.cut_off(run_id, fork, failed=status == "failed_execution")
            traces.seal_run(run_id, RunStatus.FAILED)
        log.say(session_id, "session")


@contextmanager
def _heartbeat(session_id: UUID, owner: str) -> Iterator[None]:
    """Beat in a thread of its own, because a live call can be silent for longer than a beat."""
    done = threading.Event()

    def beat() -> None:
        try:
            while not done.wait(ownership.BEAT_S):
                close_old_connections()
                if not ownership.beat(session_id, owner):
                    break
        finally:
            connection.close()

    thread = threading.Thread(target=beat, name=f"heartbeat-{session_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
