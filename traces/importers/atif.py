"""ATIF trajectories (`trajectory.json` of Harbor and Terminal-Bench)."""

from collections.abc import Iterator

from traces.importers import transcripts
from traces.importers.building import RunFacts, finish
from traces.importers.calls import provider_of
from traces.importers.messages import tools_of
from traces.importers.problems import BadFile
from traces.importers.reading import first, items, obj, required_list, required_object, text
from traces.importers.source import Source
from traces.importers.transcripts import Said, Setting
from traces.json_types import JSONObject, JSONValue
from traces.recording import RecordedRun

FORMAT = "atif"
_ROLES = {"user": "user", "agent": "assistant", "system": "system"}
_MAPPED = frozenset(
    {
        "step_id",
        "source",
        "message",
        "reasoning_content",
        "tool_calls",
        "observation",
        "metrics",
        "timestamp",
        "model_name",
    }
)


def parse(source: Source) -> Iterator[RecordedRun]:
    """The run of a trajectory."""
    for record, where in source.objects():
        yield _run(record, where)


def _run(given: JSONObject, where: str) -> RecordedRun:
    agent = obj(given.get("agent"))
    session = text(first(given, "session_id", "trajectory_id"))
    if not session:
        raise BadFile("an ATIF trajectory without `session_id`", f"{where}/session_id")
    steps = required_list(given.get("steps"), f"{where}/steps")
    said = [
        each
        for at, step in enumerate(steps)
        for each in _messages(required_object(step, f"{where}/steps/{at}"), f"{where}/steps/{at}")
    ]
    model = text(agent.get("model_name"))
    setting = Setting(model=model, provider=provider_of(None, model), agent=text(agent.get("name")) or "agent",
                      tools=tools_of(agent.get("tool_definitions") or []))  # fmt: skip
    kept = ("schema_version", "final_metrics", "notes", "extra", "continued_trajectory_ref")
    return finish(
        RunFacts(external_id=session, app=text(agent.get("name")) or FORMAT, format=FORMAT,
                 metadata={"agent": agent, **{name: given[name] for name in kept if name in given}}),
        transcripts.steps_of(said, setting), where=where,
    )  # fmt: skip


def _messages(step: JSONObject, where: str) -> Iterator[Said]:
    role = _ROLES.get(text(step.get("source")))
    if role is None:
        raise BadFile(f"{text(step.get('source'))[:40]!r} is no source of an ATIF step", f"{where}/source")
    content: JSONValue = step.get("message")
    if thought := text(step.get("reasoning_content")):
        spoken: list[JSONValue] = [{"type": "text", "text": content}] if content else []
        content = [{"type": "thinking", "thinking": thought}, *spoken]
    calls: list[JSONValue] = [
        {
            "id": first(obj(call), "tool_call_id"),
            "name": obj(call).get("function_name"),
            "arguments": obj(call).get("arguments"),
        }
        for call in items(step.get("tool_calls"))
    ]
    metrics = obj(step.get("metrics"))
    rest = {key: value for key, value in step.items() if key not in _MAPPED and value is not None}
    yield Said(where=where, value={
        "role": role, "content": content, "ts": step.get("timestamp"), **({"tool_calls": calls} if calls else {}),
        **({"usage": metrics, "cost": metrics.get("cost_usd")} if metrics else {}), **rest,
        **({"model": step["model_name"]} if step.get("model_name") else {}),
    })  # fmt: skip
    for at, result in enumerate(items(obj(step.get("observation")).get("results"))):
        answer = obj(result)
        yield Said(where=f"{where}/observation/results/{at}", value={
            "role": "tool", "tool_call_id": text(answer.get("source_call_id")), "content": answer.get("content"),
            "ts": step.get("timestamp"),
        })  # fmt: skip
