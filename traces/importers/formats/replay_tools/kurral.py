"""Kurral artifacts: recorded sessions, replay artifacts, dashboard files, MCP captures.

Kurral records tool calls and answers, but no individual model calls. One model step per interaction represents them
all; its `attributes` note this. Its messages are assembled from the prompt, the request, and the tool calls and
results before the answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from traces.core.json_access import as_list, as_number, as_object, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import result_text
from traces.importers.common.model_calls import (
    normalize_parameters,
    normalize_provider,
    normalize_usage,
    parse_cost,
    usage_details,
)
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.replay_tools.kurral_calls import read_calls
from traces.importers.formats.replay_tools.kurral_interactions import Interaction, read_interactions

FORMAT = "kurral"
_METADATA_FIELDS = (
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
_SETTINGS = ("model_name", "model_version", "provider")
_SCORES = ("ars_score", "determinism_score", "determinism_report", "replay_info")


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the runs of a `.kurral` file, or of a file with one artifact per line."""
    for artifact, location in source.objects():
        yield _run(artifact, location)


def explain_rejection(value: JSONValue) -> str:
    """Return the reason why a Kurral file that is not an artifact is rejected; empty for other files."""
    body = as_object(value)
    if has_list(body, "artifacts") and "kurral_id" in as_object(next(iter(as_list(body["artifacts"])), None)):
        return "this is Kurral's index of artifacts, not a recording: import the .kurral files that it lists"
    return ""


def _run(artifact: JSONObject, location: str) -> RecordedRun:
    inputs, outputs = as_object(artifact.get("inputs")), as_object(artifact.get("outputs"))
    tools = read_calls(artifact, location)
    times = _session_times(artifact, tools, f"{location}/created_at")
    if _replay_of(artifact):
        tools = [_mark_copied(tool, times) for tool in tools]
    interactions = read_interactions(artifact, inputs, outputs, tools)
    agent = _agent(artifact, interactions, times)
    steps = [agent, *_prompt(artifact, agent)]
    config = _served_config(artifact)
    for interaction in interactions:
        steps += _turn(artifact, config, interaction, agent)
    assigned_ids = {id(tool) for interaction in interactions for tool in interaction.tools}
    steps += [tool for tool in tools if id(tool) not in assigned_ids]
    return build_run(_facts(artifact, inputs, outputs), steps, location=location)


def _replay_of(artifact: JSONObject) -> JSONObject:
    """Describe the original of a replay artifact; empty for a recording."""
    inputs = as_object(artifact.get("inputs"))
    original = first_member(inputs, "original_kurral_id") or artifact.get("original_artifact_id")
    if not original:
        return {}
    return {
        "kurral_id": original,
        "run_id": inputs.get("original_run_id"),
        "replay_type": inputs.get("replay_type") or artifact.get("replay_mode"),
        "changes_detected": inputs.get("changes_detected"),
    }


def _session_times(artifact: JSONObject, tools: list[RecordedStep], location: str) -> Span:
    """Return the session's times. `created_at` is its end, but its start in files of the dashboard."""
    created_at = parse_time(artifact.get("created_at"), location)
    if created_at is None:
        return Span(start=None, end=None)
    milliseconds = artifact.get("duration_ms")
    if any(tool.started_at and tool.started_at > created_at for tool in tools):
        return Span(start=created_at, end=add_milliseconds(created_at, milliseconds))
    if not isinstance(milliseconds, int) or not 0 <= milliseconds < 10**11:
        milliseconds = 0
    return Span(start=created_at - timedelta(milliseconds=milliseconds), end=created_at)


def _mark_copied(tool: RecordedStep, replay: Span) -> RecordedStep:
    """Label a call as cached if it is older than the replay: then its answer is from the recording."""
    if tool.started_at is None or replay.start is None or tool.started_at >= replay.start - timedelta(seconds=1):
        return tool
    attributes: JSONObject = {"recorded_start": tool.started_at.isoformat(), "copied_from_original": True}
    return replace(
        tool,
        started_at=None,
        ended_at=None,
        label=Label.CACHED,
        reason=Reason.CACHE_SIGNATURE,
        attributes={**tool.attributes, **attributes},
    )


def _facts(artifact: JSONObject, inputs: JSONObject, outputs: JSONObject) -> RunFacts:
    names = ("kurral_id", "mcp_session_id", "run_id") if "mcp_tool_calls" in artifact else ("kurral_id",)
    external_id = as_text(first_member(artifact, *names))
    if not external_id:
        raise BadFile("a Kurral artifact without `kurral_id`", "/kurral_id")
    own: JSONObject = {"ars": outputs.get("ars"), "determinism_score": inputs.get("determinism_score")}
    score_values = {**own, **artifact}
    scores: JSONObject = {name: score_values[name] for name in (*own, *_SCORES) if score_values.get(name) is not None}
    original = _replay_of(artifact)
    return RunFacts(
        external_id=external_id,
        app=app_name(artifact.get("tenant_id")) or FORMAT,
        format=FORMAT,
        environment=as_text(artifact.get("environment")),
        failed=bool(artifact.get("error")) or (bool(original) and not outputs and not artifact.get("tool_calls")),
        tags=[*(["kurral replay"] if original else []), *_tags(artifact.get("tags"))],
        judgements=[judgement(name, _score(scores[name])) for name in scores if _score(scores[name]) is not None],
        metadata={
            "imported_scores": scores,
            "replay_of": original,
            "error": artifact.get("error"),
            "config": _configuration(artifact),
            "kurral": {name: artifact[name] for name in _METADATA_FIELDS if artifact.get(name) not in (None, [], {})},
        },
    )


def _configuration(artifact: JSONObject) -> JSONObject:
    """Return the hashes of the agent's graph and tool schemas; artifacts do not contain these themselves."""
    version = as_object(artifact.get("graph_version"))
    return {name: version[name] for name in ("graph_hash", "tool_schemas_hash") if version.get(name)}


def _score(value: JSONValue) -> JSONValue:
    """Return a score's number, which may be inside a report."""
    number = first_member(as_object(value), "ars_score", "overall_score") if isinstance(value, dict) else value
    return as_number(number)


def _tags(value: JSONValue) -> list[str]:
    if isinstance(value, dict):
        return [f"{key}:{as_text(value)}" for key, value in value.items()]
    return [as_text(tag) for tag in as_list(value)]


def _agent(artifact: JSONObject, interactions: list[Interaction], times: Span) -> RecordedStep:
    counts: JSONObject = {key: value for key, value in as_object(artifact.get("token_usage")).items() if value}
    usage = normalize_usage(counts, "/token_usage")
    duration = artifact.get("duration_ms")
    attributes: JSONObject = {**({"duration_ms": duration} if duration else {}), **usage_details(counts)}
    failed = bool(artifact.get("error"))
    requests: list[JSONValue] = [
        {"role": "user", "content": interaction.request} for interaction in interactions if interaction.request
    ]
    return RecordedStep(
        key="session",
        type=StepType.AGENT,
        name=as_text(artifact.get("run_id")) or "session",
        status=StepStatus.ERROR if failed else StepStatus.OK,
        error=result_text(artifact["error"]) if failed else "",
        started_at=times.start,
        ended_at=times.end,
        input={"messages": requests} if requests else None,
        output={"text": interactions[-1].answer} if interactions and interactions[-1].answer else None,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        cost_usd=parse_cost(artifact.get("cost_usd")) or usage.cost_usd,
        attributes=attributes,
    )


def _prompt(artifact: JSONObject, agent: RecordedStep) -> list[RecordedStep]:
    prompt = as_object(artifact.get("resolved_prompt"))
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
            input={
                **({"template_id": prompt["template_id"]} if prompt.get("template_id") else {}),
                "template": prompt["template"],
                "variables": as_object(prompt.get("variables")),
            },
            output={"text": final} if final else None,
            attributes={key: value for key, value in prompt.items() if key.endswith("_hash")},
        )
    ]


def _turn(
    artifact: JSONObject, config: JSONObject, interaction: Interaction, agent: RecordedStep
) -> list[RecordedStep]:
    request: JSONObject = {"role": "user", "content": interaction.request}
    answer: JSONObject = {"role": "assistant", "content": interaction.answer}
    failed = bool(interaction.error) and not interaction.answer
    ends = [tool.ended_at for tool in interaction.tools if tool.ended_at]
    turn = RecordedStep(
        key=interaction.key,
        type=StepType.TURN,
        name=interaction.request or "turn",
        parent=agent.key,
        status=StepStatus.ERROR if failed else StepStatus.OK,
        error=interaction.error,
        started_at=min((tool.started_at for tool in interaction.tools if tool.started_at), default=agent.started_at),
        ended_at=max(ends, default=None),
        input={"messages": [request]} if interaction.request else None,
        output={"message": answer} if interaction.answer else None,
    )
    tools = [_under_turn(tool, turn) for tool in interaction.tools]
    return [turn, *tools, _model(artifact, config, turn, request, answer, tools)]


def _model(
    artifact: JSONObject,
    config: JSONObject,
    turn: RecordedStep,
    request: JSONObject,
    answer: JSONObject,
    tools: Sequence[RecordedStep],
) -> RecordedStep:
    """Build the single model step of a turn (see the module's docstring)."""
    model, provider = as_text(config.get("model_name")), normalize_provider(as_text(config.get("provider")))
    model = "" if model == "unknown" else model
    prompt = as_object(artifact.get("resolved_prompt"))
    system = as_text(first_member(prompt, "final_text", "template"))
    messages: list[JSONValue] = [{"role": "system", "content": system}] if system else []
    messages.append(request)
    for tool in tools:
        call: JSONObject = {"id": tool.call_id, "name": tool.tool_name, "arguments": tool.input}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {
                "role": "tool",
                "content": result_text(tool.output) if tool.output is not None else tool.error,
                "tool_call_id": tool.call_id,
            }
        )
    parameters = as_object(config.get("parameters"))
    is_copied = _replay_of(artifact).get("replay_type") == "A"
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
        label=Label.CACHED if is_copied else Label.LIVE,
        reason=Reason.CACHE_SIGNATURE if is_copied else None,
        attributes={
            "stands_for": "all model calls of this interaction: Kurral records none of them singly",
            "llm_config": as_object(artifact.get("llm_config")),
        },
    )


def _served_config(artifact: JSONObject) -> JSONObject:
    """Return the configuration that answered, with all its parameters, normalized.

    Replays contain the original's, and a B replay lists its changes.
    """
    config = _changed_config(artifact)
    stop: JSONObject = {"stop": config.get("stop_sequences")} if config.get("stop_sequences") else {}
    parameters = as_object(config.get("parameters")) | stop | as_object(config.get("additional_params"))
    return {**config, "parameters": normalize_parameters(parameters)}


def _changed_config(artifact: JSONObject) -> JSONObject:
    config, replay = as_object(artifact.get("llm_config")), _replay_of(artifact)
    if replay.get("replay_type") == "A":
        return config
    changes = as_object(as_object(replay.get("changes_detected")).get("llm_config"))
    current = {name: as_object(change).get("current") for name, change in changes.items()}
    settings = {name: current[name] for name in _SETTINGS if current.get(name)}
    parameters = {name: value for name, value in current.items() if name not in _SETTINGS}
    return {**config, **settings, "parameters": {**as_object(config.get("parameters")), **parameters}}


def _under_turn(tool: RecordedStep, turn: RecordedStep) -> RecordedStep:
    return replace(tool, parent=turn.key)
