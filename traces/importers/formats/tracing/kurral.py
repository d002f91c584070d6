"""Kurral artifacts: recorded sessions, replay artifacts, dashboard files, MCP captures.

Kurral records tool calls and answers but no single model call, so one model step for each interaction stands for
all of them: its messages are put together from the prompt, the request, and the tool calls and results before the
answer. Its `attributes` say so.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import as_text, normalize_arguments
from traces.importers.common.model_calls import normalize_parameters, normalize_provider, normalize_usage, parse_cost
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import Span, add_milliseconds, parse_span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, parse_embedded, require_list, require_object, text
from traces.importers.files.source import Source

FORMAT = "kurral"
_WORD = re.compile(r"\w+")
_STATUS = {"ok": StepStatus.OK, "error": StepStatus.ERROR, "timeout": StepStatus.TIMEOUT}
_TOOL_FIELDS = frozenset(
    {
        "id",
        "tool_name",
        "start_time",
        "end_time",
        "timestamp",
        "input",
        "output",
        "inputs",
        "outputs",
        "status",
        "error_text",
        "latency_ms",
        "duration_ms",
        "arguments",
        "result",
    }
)
_KEPT = (
    "run_id",
    "schema_version",
    "semantic_buckets",
    "deterministic",
    "replay_level",
    "graph_version",
    "time_env",
    "created_by",
    "object_storage_uri",
    "mcp_session_id",
    "mcp_servers_used",
)
_SCORES = ("ars_score", "determinism_score", "determinism_report", "replay_info")


@dataclass(frozen=True, kw_only=True)
class _Interaction:
    key: str
    asked: str
    answered: str
    error: str
    tools: list[RecordedStep]


def parse(source: Source) -> Iterator[RecordedRun]:
    """The runs of a `.kurral` file, or of a file with one on each line."""
    for record, where in source.objects():
        yield _run(record, where)


def refusal(value: JSONValue) -> str:
    """Why a file of Kurral's that is no artifact is not imported."""
    given = obj(value)
    if isinstance(given.get("artifacts"), list) and "kurral_id" in obj(next(iter(items(given["artifacts"])), None)):
        return "this is Kurral's index of artifacts, not a recording: import the .kurral files that it lists"
    return ""


def _run(given: JSONObject, where: str) -> RecordedRun:
    inputs, outputs = obj(given.get("inputs")), obj(given.get("outputs"))
    tools = [*_tools(given, where), *_mcp_tools(given, where)]
    times = _session_times(given, tools, f"{where}/created_at")
    if _replay_of(given):
        tools = [_copied(tool, times) for tool in tools]
    interactions = _interactions(given, inputs, outputs, tools)
    agent = _agent(given, interactions, times)
    steps = [agent, *_prompt(given, agent)]
    for interaction in interactions:
        steps += _turn(given, interaction, agent)
    steps += [tool for tool in tools if not any(tool in each.tools for each in interactions)]
    return build_run(_facts(given, inputs, outputs), steps, location=where)


def _replay_of(given: JSONObject) -> JSONObject:
    """What a replay artifact replayed; empty for a recording."""
    inputs = obj(given.get("inputs"))
    original = first(inputs, "original_kurral_id") or given.get("original_artifact_id")
    if not original:
        return {}
    return {
        "kurral_id": original,
        "run_id": inputs.get("original_run_id"),
        "replay_type": inputs.get("replay_type") or given.get("replay_mode"),
        "changes_detected": inputs.get("changes_detected"),
    }


def _session_times(given: JSONObject, tools: list[RecordedStep], where: str) -> Span:
    """Kurral writes an artifact, and its time, at the end; its dashboard's files have the time of the start."""
    created = parse_time(given.get("created_at"), where)
    duration = given.get("duration_ms")
    lasted = timedelta(milliseconds=duration) if isinstance(duration, int) and 0 <= duration < 10**11 else timedelta()
    if created is None:
        return Span(start=None, end=None)
    if any(tool.started_at and tool.started_at > created for tool in tools):
        return Span(start=created, end=add_milliseconds(created, duration))
    return Span(start=created - lasted, end=created)


def _copied(tool: RecordedStep, replay: Span) -> RecordedStep:
    """A call that is older than the replay was not made in it: its answer came from the recording."""
    if tool.started_at is None or replay.start is None or tool.started_at >= replay.start - timedelta(seconds=1):
        return tool
    recorded: JSONObject = {"recorded_start": tool.started_at.isoformat(), "copied_from_original": True}
    return replace(
        tool,
        started_at=None,
        ended_at=None,
        label=Label.CACHED,
        reason=Reason.CACHE_SIGNATURE,
        attributes={**tool.attributes, **recorded},
    )


def _facts(given: JSONObject, inputs: JSONObject, outputs: JSONObject) -> RunFacts:
    names = ("kurral_id", "mcp_session_id", "run_id") if "mcp_tool_calls" in given else ("kurral_id",)
    external_id = text(first(given, *names))
    if not external_id:
        raise BadFile("a Kurral artifact without `kurral_id`", "/kurral_id")
    own: JSONObject = {"ars": outputs.get("ars"), "determinism_score": inputs.get("determinism_score")}
    told = {**own, **given}
    scores: JSONObject = {name: told[name] for name in (*own, *_SCORES) if told.get(name) is not None}
    original = _replay_of(given)
    return RunFacts(
        external_id=external_id,
        app=app_name(given.get("tenant_id")) or FORMAT,
        format=FORMAT,
        environment=text(given.get("environment")),
        failed=bool(given.get("error")) or (bool(original) and not outputs and not given.get("tool_calls")),
        tags=[*(["kurral replay"] if original else []), *_tags(given.get("tags"))],
        judgements=[judgement(name, _score(scores[name])) for name in scores if _score(scores[name]) is not None],
        metadata={
            "imported_scores": scores,
            "replay_of": original,
            "error": given.get("error"),
            "config": _configuration(given),
            "kurral": {name: given[name] for name in _KEPT if given.get(name) not in (None, [], {})},
        },
    )


def _configuration(given: JSONObject) -> JSONObject:
    """The agent's graph and its tools' schemas, of which an artifact has hashes only."""
    version = obj(given.get("graph_version"))
    return {name: version[name] for name in ("graph_hash", "tool_schemas_hash") if version.get(name)}


def _score(value: JSONValue) -> JSONValue:
    """The number of a score that may stand in a report with its parts."""
    number = first(obj(value), "ars_score", "overall_score") if isinstance(value, dict) else value
    return number if isinstance(number, int | float) and not isinstance(number, bool) else None


def _tags(given: JSONValue) -> list[str]:
    if isinstance(given, dict):
        return [f"{key}:{text(value)}" for key, value in given.items()]
    return [text(each) for each in items(given)]


def _agent(given: JSONObject, interactions: list[_Interaction], times: Span) -> RecordedStep:
    usage = normalize_usage(
        {key: value for key, value in obj(given.get("token_usage")).items() if value}, "/token_usage"
    )
    duration = given.get("duration_ms")
    failed = bool(given.get("error"))
    asked: list[JSONValue] = [{"role": "user", "content": each.asked} for each in interactions if each.asked]
    return RecordedStep(
        key="session",
        type=StepType.AGENT,
        name=text(given.get("run_id")) or "session",
        status=StepStatus.ERROR if failed else StepStatus.OK,
        error=as_text(given["error"]) if failed else "",
        started_at=times.start,
        ended_at=times.end,
        input={"messages": asked} if asked else None,
        output={"text": interactions[-1].answered} if interactions and interactions[-1].answered else None,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        cost_usd=parse_cost(given.get("cost_usd")) or usage.cost_usd,
        attributes={"duration_ms": duration} if duration else {},
    )


def _prompt(given: JSONObject, agent: RecordedStep) -> list[RecordedStep]:
    prompt = obj(given.get("resolved_prompt"))
    if not prompt.get("template"):
        return []
    final = prompt.get("final_text")
    return [
        RecordedStep(
            key="prompt",
            type=StepType.PROMPT,
            name="resolved prompt",
            parent=agent.key,
            started_at=agent.started_at,
            input={"template": prompt["template"], "variables": obj(prompt.get("variables"))},
            output={"text": final} if final else None,
            attributes={key: value for key, value in prompt.items() if key.endswith("_hash")},
        )
    ]


def _turn(given: JSONObject, interaction: _Interaction, agent: RecordedStep) -> list[RecordedStep]:
    asked: JSONObject = {"role": "user", "content": interaction.asked}
    answer: JSONObject = {"role": "assistant", "content": interaction.answered}
    failed = bool(interaction.error) and not interaction.answered
    ends = [tool.ended_at for tool in interaction.tools if tool.ended_at]
    turn = RecordedStep(
        key=interaction.key,
        type=StepType.TURN,
        name=interaction.asked or "turn",
        parent=agent.key,
        status=StepStatus.ERROR if failed else StepStatus.OK,
        error=interaction.error,
        started_at=min((tool.started_at for tool in interaction.tools if tool.started_at), default=agent.started_at),
        ended_at=max(ends, default=None),
        input={"messages": [asked]} if interaction.asked else None,
        output={"message": answer} if interaction.answered else None,
    )
    tools = [_under(tool, turn) for tool in interaction.tools]
    return [turn, *tools, _model(given, turn, asked, answer, tools)]


def _model(
    given: JSONObject, turn: RecordedStep, asked: JSONObject, answer: JSONObject, tools: Sequence[RecordedStep]
) -> RecordedStep:
    """The one model step of a turn: see the module's docstring."""
    config = obj(given.get("llm_config"))
    model, provider = _served_model(given, config)
    prompt = obj(given.get("resolved_prompt"))
    system = text(first(prompt, "final_text", "template"))
    messages: list[JSONValue] = [{"role": "system", "content": system}] if system else []
    messages.append(asked)
    for tool in tools:
        call: JSONObject = {"id": tool.call_id, "name": tool.tool_name, "arguments": tool.input}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {
                "role": "tool",
                "content": as_text(tool.output) if tool.output is not None else tool.error,
                "tool_call_id": tool.call_id,
            }
        )
    parameters = normalize_parameters(obj(config.get("parameters")) | obj(config.get("additional_params")))
    return RecordedStep(
        key=f"{turn.key}-answer",
        type=StepType.MODEL,
        name=model or "model",
        parent=turn.key,
        provider=provider,
        model=model,
        status=turn.status,
        error=turn.error,
        started_at=turn.ended_at or turn.started_at,
        input={"messages": messages, **({"parameters": parameters} if parameters else {})},
        output=turn.output,
        links=tuple(tool.key for tool in tools),
        attributes={
            "stands_for": "all model calls of this interaction: Kurral records none of them singly",
            "llm_config": config,
        },
    )


def _served_model(given: JSONObject, config: JSONObject) -> tuple[str, str]:
    """The model that really answered: a replay artifact repeats its original's, and names its own among the changes."""
    changed = obj(obj(obj(given.get("inputs")).get("changes_detected")).get("llm_config"))
    model = text(obj(changed.get("model_name")).get("current")) or text(config.get("model_name"))
    provider = text(obj(changed.get("provider")).get("current")) or text(config.get("provider"))
    return ("" if model == "unknown" else model), normalize_provider(provider)


def _tools(given: JSONObject, where: str) -> list[RecordedStep]:
    seen: set[str] = set()
    calls = require_list(given.get("tool_calls") or [], f"{where}/tool_calls")
    return [
        _tool(require_object(call, f"{where}/tool_calls/{at}"), f"{where}/tool_calls/{at}", seen)
        for at, call in enumerate(calls)
    ]


def _tool(call: JSONObject, where: str, seen: set[str]) -> RecordedStep:
    name = text(call.get("tool_name"))
    if not name:
        raise BadFile("a tool call without `tool_name`", where)
    times = parse_span(first(call, "start_time", "timestamp"), call.get("end_time"), where)
    said = first(call, "error_text", "error")
    failed = bool(call.get("error_flag")) or bool(said)
    status = _STATUS.get(text(call.get("status")), StepStatus.OK)
    stubbed = call.get("stubbed_in_replay") is True
    key = _unique(text(call.get("id")) or "tool", seen)
    return RecordedStep(
        key=key,
        type=StepType.TOOL,
        name=name,
        tool_name=name,
        call_id=key,
        parent="session",
        status=StepStatus.ERROR if failed and status is StepStatus.OK else status,
        error=as_text(said) if said else "error" if failed else "",
        started_at=times.start,
        ended_at=times.end or add_milliseconds(times.start, first(call, "latency_ms", "duration_ms")),
        input=normalize_arguments(first(call, "input", "inputs")),
        output=first(call, "output", "outputs"),
        label=Label.CACHED if stubbed else Label.LIVE,
        reason=Reason.CACHE_SIGNATURE if stubbed else None,
        attributes={key: value for key, value in call.items() if key not in _TOOL_FIELDS},
    )


def _mcp_tools(given: JSONObject, where: str) -> list[RecordedStep]:
    seen: set[str] = set()
    calls = require_list(given.get("mcp_tool_calls") or [], f"{where}/mcp_tool_calls")
    return [
        _mcp_tool(require_object(call, f"{where}/mcp_tool_calls/{at}"), f"{where}/mcp_tool_calls/{at}", seen)
        for at, call in enumerate(calls)
    ]


def _mcp_tool(call: JSONObject, where: str, seen: set[str]) -> RecordedStep:
    started = parse_time(call.get("timestamp"), f"{where}/timestamp")
    answer = _mcp_answer(call)
    name = text(first(call, "tool_name", "method")) or "mcp call"
    key = _unique(text(first(call, "id", "request_id")) or "mcp", seen)
    return RecordedStep(
        key=key,
        type=StepType.TOOL,
        name=name,
        tool_name=name,
        call_id=key,
        parent="session",
        status=answer.status,
        error=answer.error,
        started_at=started,
        ended_at=add_milliseconds(started, call.get("duration_ms")),
        input=normalize_arguments(call.get("arguments")),
        output=answer.result,
        attributes={key: value for key, value in call.items() if key not in _TOOL_FIELDS},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _McpAnswer:
    result: JSONValue = None
    error: str = ""
    status: StepStatus = StepStatus.OK


def _mcp_answer(call: JSONObject) -> _McpAnswer:
    """What a call was answered: its result or error, and of a stream that has neither its last event."""
    events = items(call.get("events"))
    if call.get("error"):
        return _McpAnswer(result=call.get("result"), error=_error_message(call["error"]), status=StepStatus.ERROR)
    if call.get("result") is not None or not events:
        return _McpAnswer(result=call.get("result"))
    last = obj(events[-1])
    data = parse_embedded(last.get("data"))
    answer = obj(data) if "jsonrpc" in obj(data) else {}
    if text(last.get("event_type")) == "error" or answer.get("error"):
        said = answer.get("error") or data
        return _McpAnswer(error=_error_message(said) if said else "error", status=StepStatus.ERROR)
    broken_off = text(last.get("event_type")) in {"start", "progress"}
    return _McpAnswer(result=answer.get("result", data), status=StepStatus.PARTIAL if broken_off else StepStatus.OK)


def _error_message(error: JSONValue) -> str:
    return text(first(obj(error), "message", "error")) or as_text(error)


def _interactions(
    given: JSONObject, inputs: JSONObject, outputs: JSONObject, tools: list[RecordedStep]
) -> list[_Interaction]:
    """Requests with their answers, by position; an early artifact has one, unlisted."""
    asked, answered = items(inputs.get("interactions")), items(outputs.get("interactions"))
    if not asked and not answered and (first(inputs, "input") or first(outputs, "output")):
        asked, answered = [dict(inputs)], [dict(outputs)]
    prompted = first(obj(obj(given.get("resolved_prompt")).get("variables")), "input")
    if not asked and not answered and prompted:
        asked, answered = [{"input": prompted}], [{"error": "no answer was recorded"}]
    pairs = [
        (obj(asked[at]) if at < len(asked) else {}, obj(answered[at]) if at < len(answered) else {})
        for at in range(max(len(asked), len(answered)))
    ]
    words = [_words(f"{as_text(question)} {as_text(answer)}") for question, answer in pairs]
    shares = _shared_out(tools, words)
    return [
        _Interaction(
            key=f"turn-{at + 1}",
            asked=_said(first(question, "input") or answer.get("input")),
            answered=_said(answer.get("output")),
            error=_said(answer.get("error")),
            tools=shares[at],
        )
        for at, (question, answer) in enumerate(pairs)
    ]


def _shared_out(tools: list[RecordedStep], words: list[set[str]]) -> list[list[RecordedStep]]:
    """Which interaction each call belongs to: Kurral does not say, so, in order, the one it shares most words with."""
    shares: list[list[RecordedStep]] = [[] for _ in words]
    at = 0
    for tool in tools if words else []:
        mine = _words(f"{as_text(tool.input)} {as_text(tool.output)[:500]}")
        at = max(range(at, len(words)), key=lambda each: (len(mine & words[each]), -each))
        shares[at].append(tool)
    return shares


def _words(given: str) -> set[str]:
    return set(_WORD.findall(given.lower()))


def _said(value: JSONValue) -> str:
    return "" if value is None else as_text(parse_embedded(value)) if isinstance(value, dict | list) else text(value)


def _under(tool: RecordedStep, turn: RecordedStep) -> RecordedStep:
    return replace(tool, parent=turn.key)


def _unique(key: str, seen: set[str]) -> str:
    """Ids repeat in hand-made files; a step's key may not."""
    candidate, count = key, 1
    while candidate in seen:
        count += 1
        candidate = f"{key}#{count}"
    seen.add(candidate)
    return candidate
