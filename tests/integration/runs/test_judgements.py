"""Judgements of stored runs, and their outcomes."""

import io
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.support.recordings import order_run
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, JudgementSource, Label, Reason, RunStatus, StepStatus, StepType
from traces.errors import InvalidRecording
from traces.imports import portable_runs
from traces.models import Artifact, Judgement, Run
from traces.runs import services

pytestmark = pytest.mark.django_db
REWARD = RecordedJudgement(name="reward", kind=JudgementKind.SCORE, value=0.0)
WRONG_STEP = RecordedJudgement(name="annotation", kind=JudgementKind.FAIL, text="wrong order", step="look")


def _record(run: RecordedRun) -> UUID:
    return services.record(run).run_id


def _outcome(run_id: UUID) -> tuple[str, str]:
    verdict = Run.objects.get(id=run_id).verdict
    return verdict.outcome, verdict.basis


def _with_check(status: StepStatus, **columns: Any) -> RecordedRun:
    decision = "pass" if status is StepStatus.OK else "fail"
    check = RecordedStep(
        key="check", type=StepType.VALIDATOR, name="fits the order", status=status, output={"decision": decision}
    )
    run = order_run(**columns)
    return replace(run, steps=(*run.steps, check))


def _fork(source_id: UUID, last: int) -> UUID:
    source = Run.objects.get(id=source_id)
    run = services.open_run(name="fork", app=source.app, source_run=source, fork_sequence_no=last + 1)
    services.copy_steps(
        source_run_id=source.id,
        run_id=run.id,
        first=1,
        last=last,
        label=Label.EXACT,
        reason=Reason.SOURCE_OUTPUT_REUSED,
    )
    services.seal_run(run.id, RunStatus.COMPLETED)
    return run.id


def test_failed_reward_fails_completed_run() -> None:
    run_id = _record(order_run(judgements=(REWARD, WRONG_STEP)))
    assert _outcome(run_id) == ("failed", "import")
    assert Judgement.objects.get(run_id=run_id, name="annotation").step_no == 3


def test_plain_runs_are_unknown_or_failed() -> None:
    assert _outcome(_record(order_run())) == ("unknown", "")
    assert _outcome(_record(order_run("order-2", status=RunStatus.FAILED))) == ("failed", "")


def test_repeated_import_adds_new_judgements_once() -> None:
    run_id = _record(order_run())
    for _ in range(2):
        result = services.record(order_run(judgements=(REWARD,)))
        assert (result.run_id, result.is_new) == (run_id, False)
    assert Judgement.objects.filter(run_id=run_id).count() == 1
    assert _outcome(run_id) == ("failed", "import")


def test_validators_of_imports_decide() -> None:
    assert _outcome(_record(_with_check(StepStatus.OK))) == ("passed", "validator")
    assert _outcome(_record(_with_check(StepStatus.ERROR, external_id="bad"))) == ("failed", "validator")


def test_unrun_validators_leave_unverified() -> None:
    run = _with_check(StepStatus.OK)
    *other_steps, check = run.steps
    placeholder = replace(check, label=Label.SIMULATED, reason=Reason.POLICY_FALLBACK)
    assert _outcome(_record(replace(run, steps=(*other_steps, placeholder)))) == ("unverified", "validator")


def test_derived_runs_copy_step_judgements() -> None:
    source = _record(order_run(judgements=(REWARD, WRONG_STEP)))
    assert list(Judgement.objects.filter(run_id=_fork(source, 4)).values_list("name", "step_no")) == [("annotation", 3)]
    assert not Judgement.objects.filter(run_id=_fork(source, 2)).exists()
    assert _outcome(_fork(source, 5)) == ("unknown", "")


def test_derived_runs_reread_validators() -> None:
    source = _record(_with_check(StepStatus.ERROR))
    assert _outcome(_fork(source, 6)) == ("failed", "validator")
    assert _outcome(_fork(source, 5)) == ("unknown", "")


def test_bundles_contain_judgements_once() -> None:
    detailed = replace(WRONG_STEP, detail={"correction": {"step": 2}})
    run = Run.objects.get(id=_record(order_run(judgements=(REWARD, detailed))))
    file, second_result = io.BytesIO(), io.BytesIO()
    portable_runs.export(run, file)
    with services.retention():
        Run.objects.all().delete()
        Artifact.objects.all().delete()
    first = portable_runs.import_bundle(file)
    assert _outcome(first.run_id) == ("failed", "import")
    assert Judgement.objects.get(run_id=first.run_id, name="annotation").detail == detailed.detail
    assert Judgement.objects.filter(run_id=first.run_id).count() == 2
    assert portable_runs.import_bundle(file) == services.RecordResult(run_id=first.run_id, is_new=False)
    assert Judgement.objects.filter(run_id=first.run_id).count() == 2
    portable_runs.export(Run.objects.get(id=first.run_id), second_result)
    assert second_result.getvalue() == file.getvalue()


@pytest.mark.parametrize(
    ("judgement", "where"),
    [
        (replace(REWARD, value=float("nan")), "/judgements/0/value"),
        (replace(REWARD, value=None), "/judgements/0/value"),
        (replace(WRONG_STEP, step="elsewhere"), "/judgements/0/step"),
        (replace(REWARD, name=""), "/judgements/0/name"),
        (replace(REWARD, by="x" * 121), "/judgements/0/by"),
    ],
)
def test_malformed_judgements_are_rejected(judgement: RecordedJudgement, where: str) -> None:
    with pytest.raises(InvalidRecording) as refusal:
        services.record(order_run(judgements=(judgement,)))
    assert refusal.value.where == where
    assert not Run.objects.exists()


def test_many_judgements_use_constant_queries() -> None:
    def cost(count: int) -> int:
        runs = [order_run(f"{count}-{at}", judgements=(REWARD,)) for at in range(count)]
        with CaptureQueriesContext(connection) as queries:
            services.record_all(runs)
        return sum("judgement" in query["sql"] for query in queries.captured_queries)

    assert cost(3) == cost(12)


def test_sources_are_stored_unchanged() -> None:
    by_ada = replace(
        REWARD, source=JudgementSource.PERSON, by="ada", name="verdict", kind=JudgementKind.PASS, value=None
    )
    run_id = _record(order_run(judgements=(REWARD, by_ada)))
    assert _outcome(run_id) == ("passed", "person")
