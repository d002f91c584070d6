"""Benchmark cases, each with its bar. A case returns its measurement and asserts nothing about it."""

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Sum
from django.test import Client

from diffing import queries
from diffing import services as diffing
from diffing.content import embeddings
from diffing.models import DiffReport
from replay.execution import runner
from replay.experiments import services as experiments
from replay.experiments.core.schemas import ExperimentRequest
from replay.live import providers
from replay.models import ReplaySession
from replay.overrides.policy import Policy
from replay.overrides.profile import Match, ModelOverride, Override, OverrideProfile, ToolOverride
from replay.sessions import services as replays
from replay.sessions.schemas import ReplayRequest
from replay.store import call_cache
from tests.bench.browser.cases import BROWSER_CASES
from tests.bench.case import Case
from tests.bench.chats import growth_of_memory, growth_of_time
from tests.bench.gateway import gateway_overhead_ms, memory_growth_mb, open_calls_overhead_ms
from tests.bench.ingest.cases import INGEST_CASES
from tests.bench.ingest.stored_bytes import share_of_arriving_runs, share_of_imported_runs, stored_bytes
from tests.bench.recordings import (
    STEPS_PER_CUSTOMER,
    answers_in_prose,
    desk,
    long_results,
    questions,
    search_text,
    searches,
)
from tests.faults.__main__ import kill_workers
from tests.support.recordings import conversation
from tests.support.servers.provider_server import openai_text, provider_server
from traces.core.json_types import JSONObject, JSONValue
from traces.models import Artifact, Edge, Run, Step
from traces.runs import services
from traces.storage import statements


def _record(customers: int, external_id: str, changed_every: int = 0) -> UUID:
    return services.record(desk(customers, external_id, changed_every=changed_every)).run_id


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def small_runs_per_second() -> float:
    runs = [desk(4, f"small-{number}") for number in range(300)]
    return len(runs) / _seconds(lambda: [services.record(run) for run in runs])


def recording_relative_to_plain_insert() -> float:
    """Compare recording (split, hash, sign, link) with a plain insert of the rows that it produces."""
    existing_digests = set(Artifact.objects.values_list("sha256", flat=True))
    recording = _seconds(lambda: services.record(desk(1667, "ingest")))
    target = services.open_run(name="plain", app="bench")
    steps = [Step(**_row_of_run(row, target)) for row in Step.objects.filter(run__external_id="ingest").values()]
    edges = [Edge(**_row_of_run(row, target)) for row in Edge.objects.filter(run__external_id="ingest").values()]
    artifacts = [
        # The recording already uses the original digest.
        Artifact(**{**row, "sha256": row["sha256"][::-1]})
        for row in Artifact.objects.exclude(sha256__in=existing_digests).values()
    ]

    def plain() -> None:
        with transaction.atomic():
            for model, rows in ((Step, steps), (Edge, edges), (Artifact, artifacts)):
                model._default_manager.bulk_create(rows, batch_size=500)  # type: ignore[arg-type]  # each its own

    return _seconds(plain) / recording


def _row_of_run(row: Mapping[str, object], run: Run) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "id"} | {"run_id": run.id}


def stored_share_of_a_long_conversation() -> float:
    """Return the stored bytes as a percentage of the input, measured as plain JSON (smaller than OTLP)."""
    run = conversation(1000, "thousand-turns")
    input_bytes = sum(len(json.dumps([step.input, step.output])) for step in run.steps)
    before = stored_bytes()
    services.record(run)
    return 100 * (stored_bytes() - before) / input_bytes


def run_page_ms() -> float:
    """Measure the two responses that the run page waits for."""
    run, client = _record(3334, "page"), Client(HTTP_HOST="localhost")
    paths = (f"/api/v1/runs/{run}", f"/api/v1/runs/{run}/steps")
    for path in paths:
        assert client.get(path).status_code == 200
    return 1000 * _seconds(lambda: [client.get(path) for path in paths])


def run_page_kilobytes() -> float:
    """Return the size of the same responses as a browser receives them."""
    run, client = _record(3334, "page-size"), Client(HTTP_HOST="localhost", headers={"Accept-Encoding": "gzip, zstd"})
    paths = (f"/api/v1/runs/{run}", f"/api/v1/runs/{run}/steps")
    return sum(len(client.get(path).content) for path in paths) / 1000


def exact_steps_per_second() -> float:
    run = _record(3334, "exact")
    session = replays.launch(ReplayRequest(run=str(run)))
    duration = _seconds(lambda: runner.execute(session.id))
    session.refresh_from_db()
    assert session.status == "completed_exact", session.status
    return session.exact_count / duration


def _fork_at_the_end(external_id: str, customers: int = 3334) -> ReplayRequest:
    run, last = _record(customers, external_id), STEPS_PER_CUSTOMER * customers
    override = Override(match=Match(step=last), output="Your order is late.")
    return ReplayRequest(run=str(run), fork_step=last, overrides=OverrideProfile(overrides=[override]))


def first_step_ms() -> float:
    """Measure from the launch until another connection can read the first committed steps, in a server that has run."""
    runner.execute(replays.launch(_fork_at_the_end("earlier", customers=1)).id)
    request, start = _fork_at_the_end("first-step"), time.perf_counter()
    session = replays.launch(request)
    observation_times: list[float] = []

    def observe() -> None:
        # A plain statement: one thread runs at a time, and to compose a query takes it from the replay.
        while (row := statements.select(ReplaySession, ("checkpoint_no",), {"id": session.id})) and not row[0]:
            time.sleep(0.001)
        observation_times.append(time.perf_counter())
        connection.close()

    observer = threading.Thread(target=observe)
    observer.start()
    runner.execute(session.id)
    observer.join()
    return 1000 * (observation_times[0] - start)


def fork_at_the_end_ms() -> float:
    """Measure from the launch to the sealed run."""
    request = _fork_at_the_end("fork-at-the-end")
    return 1000 * _seconds(lambda: runner.execute(replays.launch(request).id))


def live_calls_per_second() -> float:
    """Measure 1,000 live answers of a local provider, each stored with intent, text, outcome and checkpoint."""
    session, duration = _live_calls(1000)
    return session.live_calls / duration


def journal_ms() -> float:
    """Measure what all that a replay does for a live call adds to the call itself."""
    session, duration = _live_calls(1000)
    totals = Step.objects.filter(run=session.run, type="model").aggregate(duration_ms=Sum("duration_ms"))
    own_ms: float = totals["duration_ms"]
    return (1000 * duration - own_ms) / session.live_calls


def _live_calls(count: int) -> tuple[ReplaySession, float]:
    override = Override(match=Match(type="model"), model=ModelOverride(provider="desk", model="m"))
    with provider_server(openai_text("Your order ", "is late.")) as server:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{server.base_url}/v1"}}
        run = services.record(questions(count, "live-calls")).run_id
        overrides = OverrideProfile(overrides=[override])
        request = ReplayRequest(run=str(run), overrides=overrides, policy=Policy(order="reexecute"))
        session = replays.launch(request)
        duration = _seconds(lambda: runner.execute(session.id))
        providers.close()
    settings.PROVIDERS = {}
    session.refresh_from_db()
    assert session.live_calls == count, (session.status, session.error)
    return session, duration


def kills_without_a_loss() -> float:
    """Kill a hundred workers on PostgreSQL and Redis. Returns 0 if a step is lost or a finished call repeated."""
    outcome = kill_workers(100)
    for text in outcome.broken:
        print(text, file=sys.stderr)
    return 0 if outcome.broken else outcome.faults


def preview_ms() -> float:
    """Measure the plan preview that is computed at every edit."""
    run = _record(3334, "preview")
    override = Override(match=Match(step=2), tool=ToolOverride(output={"status": "lost"}))
    request = ReplayRequest(run=str(run), fork_step=2, overrides=OverrideProfile(overrides=[override]))
    replays.preview(request)
    return 1000 * _seconds(lambda: replays.preview(request))


def overridden_answers_preview_seconds() -> float:
    """Measure the CPU time of a plan in which all models of a conversation of 3,000 turns answer something else."""
    run = services.record(conversation(3000, "overridden-answers")).run_id
    override = Override(match=Match(type="model"), output="Your order is late.")
    request = ReplayRequest(run=str(run), fork_step=1, overrides=OverrideProfile(overrides=[override]))
    start = time.process_time()
    replays.preview(request)
    return time.process_time() - start


def experiment_preview_seconds(cells: int, sets: Callable[[int], JSONObject]) -> float:
    """Measure the CPU time of an experiment's preview on 6,000 steps, under the slower of the two orders."""
    existing_run = Run.objects.filter(external_id="experiment").values_list("id", flat=True).first()
    run = str(existing_run or _record(2000, "experiment"))
    values: list[JSONValue] = [{"name": str(number), "overrides": [sets(number)]} for number in range(cells)]
    request: JSONObject = {"run": run, "fork_step": 1, "axes": [{"name": "axis", "values": values}]}
    settings.PROVIDERS = {"openai": {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    durations = [
        _preview_seconds(experiments.parse({**request, "policy": {"order": order}})) for order in ("reuse", "reexecute")
    ]
    settings.PROVIDERS = {}
    return max(durations)


def _preview_seconds(request: ExperimentRequest) -> float:
    start = time.process_time()
    plan = experiments.preview(request)
    duration = time.process_time() - start
    assert not plan.refusals, plan.refusals
    return duration


def _temperature(number: int) -> JSONObject:
    return {"match": {"type": "model"}, "model": {"temperature": number / 20}}


def _prompt(number: int) -> JSONObject:
    return {"match": {"type": "model"}, "prompt": {"system": f"You are clerk {number}."}}


def _tool_output(number: int) -> JSONObject:
    return {"match": {"type": "tool"}, "tool": {"output": {"status": f"lost {number}"}}}


def semantic_match_ms() -> float:
    """Find the most similar of 10,000 recorded calls of one tool that differ only in their free text."""
    run = Run.objects.get(id=services.record(searches(10_000, "searches")).run_id)
    query: JSONObject = {"query": f"{search_text(7_777)} please"}
    call_cache.similar(run, "search", {"query": "something else altogether"}, 0.85)
    times = [1000 * _seconds(lambda: call_cache.similar(run, "search", query, 0.85)) for _ in range(20)]
    assert call_cache.similar(run, "search", query, 0.85) is not None
    return sorted(times)[len(times) // 2]


def _diff_seconds(customers: int) -> float:
    base = _record(customers, f"base-{customers}")
    candidate = _record(customers, f"candidate-{customers}", changed_every=100)
    return _seconds(lambda: diffing.diff(base_id=base, candidate_id=candidate))


def long_results_diff_seconds() -> float:
    """Measure the CPU time of comparing 100 results of 200 kB, of which every twentieth word differs."""
    base = services.record(long_results(100, "long-results")).run_id
    candidate = services.record(long_results(100, "changed-long-results", changed_every=20)).run_id
    start = time.process_time()
    diffing.diff(base_id=base, candidate_id=candidate)
    return time.process_time() - start


def embedded_diff_seconds() -> float:
    """Compare two runs of 1,000 steps, 200 of them reworded, after the model is loaded."""
    base = services.record(answers_in_prose(1_000, "prose")).run_id
    candidate = services.record(answers_in_prose(1_000, "prose-otherwise", changed_every=5)).run_id
    embeddings.encode(["The model is loaded at the first text."])
    reports: list[DiffReport] = []
    duration = _seconds(lambda: reports.append(diffing.diff(base_id=base, candidate_id=candidate)))
    items = queries.report(reports[0].id).sections.model.items
    assert {item.text.method for item in items if item.text} == {"embeddings"}
    return duration


CASES = (
    Case("small runs recorded", None, "at_least", "runs/s", small_runs_per_second),
    Case("recording against a plain bulk insert", 0.3, "at_least", "x", recording_relative_to_plain_insert),
    Case("stored share of a 1,000-turn run", 2, "at_most", "%", stored_share_of_a_long_conversation),
    Case("stored share of 400 imported runs of 1.3 kB", 400, "at_most", "%", share_of_imported_runs),
    Case("stored share of 400 arriving runs of 1.3 kB", 400, "at_most", "%", share_of_arriving_runs),
    Case("time per message of a chat, 300,000 to 30,000 messages", 1.2, "at_most", "x", growth_of_time, True),
    Case("memory per message of a chat, 300,000 to 30,000 messages", 1.2, "at_most", "x", growth_of_memory, True),
    *INGEST_CASES,
    *BROWSER_CASES,
    Case("run page API, 10,000 steps", 60, "at_most", "ms", run_page_ms),
    Case("run page API, 10,000 steps, as sent", 500, "at_most", "kB", run_page_kilobytes),
    Case("exact replay, 10,000 steps", 50_000, "at_least", "steps/s", exact_steps_per_second),
    Case("fork at step 10,000: launch to first step", 100, "at_most", "ms", first_step_ms),
    Case("fork at step 10,000: launch to end", None, "at_most", "ms", fork_at_the_end_ms),
    Case("plan of a fork at step 2 of 10,000", 200, "at_most", "ms", preview_ms),
    Case("plan of other answers of all models, 3,000 turns", 1, "at_most", "s", overridden_answers_preview_seconds),
    Case(
        "experiment of 4 temperatures, 6,000 steps",
        1,
        "at_most",
        "s",
        lambda: experiment_preview_seconds(4, _temperature),
    ),
    Case("experiment of 4 prompts, 6,000 steps", 1, "at_most", "s", lambda: experiment_preview_seconds(4, _prompt)),
    Case(
        "experiment of 4 outputs of all tools, 6,000 steps",
        1,
        "at_most",
        "s",
        lambda: experiment_preview_seconds(4, _tool_output),
    ),
    Case(
        "experiment of 40 temperatures, 6,000 steps",
        None,
        "at_most",
        "s",
        lambda: experiment_preview_seconds(40, _temperature),
    ),
    Case("semantic match of a call, 10,000 recorded", 10, "at_most", "ms", semantic_match_ms),
    Case("live answers, intent and outcome stored", None, "at_least", "calls/s", live_calls_per_second),
    Case("live call, added by its replay and journal", 3, "at_most", "ms", journal_ms),
    Case("gateway, added to a call at the median", 1.5, "at_most", "ms", gateway_overhead_ms),
    Case("gateway, added to one of 100 open calls", 5, "at_most", "ms", open_calls_overhead_ms),
    Case("gateway, memory growth in 10,000 calls", 50, "at_most", "MB", memory_growth_mb, True),
    Case("workers killed without a loss", 100, "at_least", "kills", kills_without_a_loss, True),
    Case("diff of two 10,000-step runs", 0.4, "at_most", "s", lambda: _diff_seconds(3334)),
    Case("diff of 100 results of 200 kB", 5, "at_most", "s", long_results_diff_seconds),
    Case("embedded diff of two 1,000-step runs", 5, "at_most", "s", embedded_diff_seconds, embeds=True),
    Case("diff of two 100,000-step runs", 5, "at_most", "s", lambda: _diff_seconds(33_334), True),
)
