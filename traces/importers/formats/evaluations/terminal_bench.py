"""Results of Terminal-Bench (`results.json` of a run or of one trial): what was asked, and which tests passed.

What the agent did is in its own logs. Those of the agent Terminus are calls in the folder of their trial:

    <run>/<task>/<trial>/results.json     <run>/<task>/<trial>/agent-logs/episode-0/debug.json

The run of a trial has a validator per test.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, omit
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.model_calls import normalize_parameters, parse_token_count
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.common.times import parse_span
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list, require_object
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.chats import chat

FORMAT: Final = "terminal-bench"
_TRIAL: Final = frozenset({"trial_name", "task_id", "is_resolved"})
_EPISODE: Final = re.compile(r"episode-([0-9]{1,6})")
_NO_ANSWER: Final[JSONObject] = {"role": "assistant", "content": None, "error": "no answer"}
# Why a trial did not fail.
_NO_FAILURE: Final = frozenset({"", "unset", "none"})


def sniff(sample: Sample) -> float:
    """Return the confidence that the file has results, or a call of Terminus: other programs log calls like these."""
    is_episode = _EPISODE.fullmatch(PurePosixPath(sample.name).parent.name) is not None
    bodies = [as_object(value) for value in sample.values]
    return 1.0 if any(_is_result(body) or (is_episode and _is_call(body)) for body in bodies) else 0.0


def _is_result(body: JSONObject) -> bool:
    results = body.get("results")
    first = as_object(results[0]) if isinstance(results, list) and results else body
    return first.keys() >= _TRIAL


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trial, and one per call without a trial."""
    folders = _Folders()
    for source in sources:
        try:
            folders.add(source)
        except BadFile as problem:
            source.problems.append(problem)
    yield from folders.runs()


def keys(source: Source) -> set[str]:
    """Return the folders of the trials that a file belongs to."""
    folders = _Folders()
    try:
        folders.add(source)
    except BadFile:
        return {source.name}
    return {str(folder) for folder in folders.trials.keys() | folders.episodes.keys()} or {source.name}


def _is_call(body: JSONObject) -> bool:
    return {"litellm_call_id", "original_response", "messages"} <= body.keys()


@dataclass(frozen=True, kw_only=True)
class _Trial:
    body: JSONObject
    location: str
    source: Source


@dataclass(kw_only=True)
class _Folders:
    """Trials and the episodes of their agents by the folders of the trials."""

    # The results of a run may repeat the name of a trial.
    trials: dict[PurePosixPath, dict[str, _Trial]] = field(default_factory=dict)
    episodes: dict[PurePosixPath, dict[int, Source]] = field(default_factory=dict)

    def add(self, source: Source) -> None:
        """Add the trials of a file, of which a run and each trial have one, or a call."""
        folder = PurePosixPath(source.name).parent
        for record in source.records():
            body = require_object(record.value, record.location)
            match = _EPISODE.fullmatch(folder.name)
            if _is_call(body) and match:
                self.episodes.setdefault(folder.parent.parent, {})[int(match[1])] = source
            elif "results" not in body:
                self._add_trial(folder, _Trial(body=body, location=record.location, source=source))
            else:
                self._add_results(body, f"{record.location}/results", source)

    def _add_results(self, body: JSONObject, location: str, source: Source) -> None:
        folder = PurePosixPath(source.name).parent
        for index, item in enumerate(require_list(body["results"], location)):
            place = f"{location}/{index}"
            try:
                trial = require_object(item, place)
            except BadFile as problem:
                source.problems.append(problem)
                continue
            task, name = as_text(trial.get("task_id")), as_text(trial.get("trial_name"))
            self._add_trial(folder / task / name, _Trial(body=trial, location=place, source=source))

    def _add_trial(self, folder: PurePosixPath, trial: _Trial) -> None:
        self.trials.setdefault(folder, {}).setdefault(as_text(trial.body.get("id")), trial)

    def runs(self) -> Iterator[RecordedRun]:
        trials = [(folder, trial) for folder, by_id in self.trials.items() for trial in by_id.values()]
        for folder, trial in trials:
            try:
                yield _run(trial.body, trial.location, self._calls(folder))
            except BadFile as problem:
                trial.source.problems.append(problem)
        for folder, calls in self.episodes.items():
            if folder not in self.trials:
                for source in calls.values():
                    yield from chat.parse(source)

    def _calls(self, folder: PurePosixPath) -> list[chat.Transcript]:
        """Return the calls of a trial in the order of its episodes."""
        sources = self.episodes.get(folder, {})
        return [
            call
            for number in sorted(sources)
            for call in chat.read_transcripts(sources[number].value, sources[number].name, "")
        ]


def _run(body: JSONObject, location: str, calls: list[chat.Transcript]) -> RecordedRun:
    task, failure = as_text(body.get("task_id")), as_text(body.get("failure_mode"))
    failure = "" if failure in _NO_FAILURE else failure
    times = parse_span(body.get("trial_started_at"), body.get("trial_ended_at"), location)
    return build_run(
        RunFacts(
            external_id=as_text(first_member(body, "id", "trial_name")),
            app=FORMAT,
            format=FORMAT,
            name=task,
            failed=bool(failure),
            started_at=times.start,
            ended_at=times.end,
            tags=[f"task:{task}"],
            metadata=omit(body, "id", "instruction", "parser_results"),
            judgements=_judgements(body, failure),
        ),
        benchmark_scores.fail_without_turns(
            [*_with_calls(_agent(body, failure, location), calls), *_tests(body, location)], failure
        ),
        location=location,
    )


def _agent(body: JSONObject, failure: str, location: str) -> RecordedStep:
    times = parse_span(body.get("agent_started_at"), body.get("agent_ended_at"), location)
    request: JSONObject = {"role": "user", "content": body.get("instruction")}
    return RecordedStep(
        key=AGENT_KEY,
        type=StepType.AGENT,
        name="agent",
        input={"messages": [request]} if body.get("instruction") else None,
        status=StepStatus.ERROR if failure else StepStatus.OK,
        error=failure,
        # Agents that do not count have zeros.
        tokens_in=parse_token_count(body.get("total_input_tokens") or None, location),
        tokens_out=parse_token_count(body.get("total_output_tokens") or None, location),
        started_at=times.start,
        ended_at=times.end,
    )


def _with_calls(agent: RecordedStep, calls: list[chat.Transcript]) -> list[RecordedStep]:
    """Return the agent with its calls, which have tokens of their own."""
    if not calls:
        return [agent]
    entries: list[TranscriptMessage] = []
    known_count = 0
    for number, call in enumerate(calls):
        # After the first request, the program adds what the terminal showed.
        entries += [
            TranscriptMessage(value=message, location=call.location, is_injected=number > 0)
            for message in call.messages[known_count:]
        ]
        known_count = len(call.messages) + 1
        entries.append(
            TranscriptMessage(
                value=call.extra[0] if call.extra else _NO_ANSWER,
                location=call.location,
                request_messages=[*call.messages],
                parameters=normalize_parameters(chat.read_settings(call.body)),
            )
        )
    root, *steps = transcripts.build_steps(entries, TranscriptSettings())
    has_tokens = any(step.tokens_in for step in steps)
    whole = replace(agent, input=agent.input or root.input, output=root.output)
    return [replace(whole, tokens_in=None, tokens_out=None) if has_tokens else whole, *steps]


def _tests(body: JSONObject, location: str) -> Iterator[RecordedStep]:
    times = parse_span(body.get("test_started_at"), body.get("test_ended_at"), location)
    for name, verdict in as_object(body.get("parser_results")).items():
        yield RecordedStep(
            key=f"test-{name}",
            type=StepType.VALIDATOR,
            name=name,
            output={"passed": verdict == "passed", "result": verdict},
            started_at=times.start,
            ended_at=times.end,
        )


def _judgements(body: JSONObject, failure: str) -> Iterator[RecordedJudgement]:
    if isinstance(body.get("is_resolved"), bool):
        yield judgement("resolved", body["is_resolved"])
    if failure:
        yield termination(failure)
