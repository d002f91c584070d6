"""Berkeley Function Calling Leaderboard (BFCL): results of models, and scores of those that failed.

In a result with several turns, the log of each step has the answer, how it was decoded, and what the tools returned. A
result of one turn has only the answer, and the request if the log was kept.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import orjson

from traces.core.json_access import as_list, as_object, as_objects, as_text, is_number, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind, StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import normalize_messages, result_text
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source, parse_records

FORMAT: Final = "bfcl"
_COUNTS: Final = frozenset({"input_token_count", "output_token_count", "latency", "inference_log"})
_STEP: Final = re.compile(r"step_(\d{1,9})")
_QUERY: Final = "begin_of_turn_query"
_ERROR: Final = re.compile(r"\W{0,3}error\b", re.I)
_OTHER_SCORES: Final = "scores that may be of several results were not imported: import each model by itself"
_LONGEST_CALL: Final = 20_000
_SCORE_FACTS: Final = ("error", "error_type", "possible_answer", "model_result_decoded", "test_category")


def is_result(value: JSONValue) -> bool:
    """Return True if `value` is a result, or the score of one that failed."""
    body = as_object(first_item(value))
    is_score = {"id", "valid"} <= body.keys() and not body.keys().isdisjoint({"model_result_raw", "test_category"})
    return is_score or ({"id", "result"} <= body.keys() and not body.keys().isdisjoint(_COUNTS))


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per result, with its score if that is in the same import.

    Results of other models have the same ids. So a score is that of a result only if there is one of each.
    """
    records = list(parse_records(sources, _read))
    scores = [(body, location) for body, location in records if "valid" in body]
    results = [(body, location) for body, location in records if "result" in body]
    score_counts = Counter(as_text(body["id"]) for body, _ in scores)
    result_counts = Counter(as_text(body["id"]) for body, _ in results)
    known_scores = {id: body for body, _ in scores if score_counts[id := as_text(body["id"])] == result_counts[id] == 1}
    if any(result_counts[id] and id not in known_scores for id in score_counts):
        sources[-1].problems.append(BadFile(_OTHER_SCORES, "/"))
    # A score of a single turn repeats what it is about.
    alone = [(body, location) for body, location in scores if not result_counts[as_text(body["id"])]]
    for body, location in [*results, *alone]:
        score = body if "valid" in body else known_scores.get(as_text(body["id"]), {})
        try:
            yield _run(body, score, location)
        except BadFile as problem:
            sources[-1].problems.append(problem)


def _read(value: JSONValue, location: str) -> Iterator[tuple[JSONObject, str]]:
    for item in list_or_single(value):
        body = as_object(item)
        if is_result(body):
            yield body, location
        elif "accuracy" not in body:
            raise BadFile("not a result or a score of BFCL", location)


def _run(body: JSONObject, score: JSONObject, location: str) -> RecordedRun:
    id, model = as_text(body["id"]), as_text(score.get("model_name"))
    log = as_list(body.get("inference_log"))
    turns = [item for item in as_objects(log) if _QUERY in item]
    entries = list(_turns(turns, body, location)) if turns else list(_single(body, log, location))
    if entries and entries[-1].is_injected:
        # No request had the results of the last calls.
        entries.pop()
    settings = TranscriptSettings(model=model, tools=_tools(log))
    states: list[JSONValue] = [item for item in log if isinstance(item, list)]
    return build_run(
        RunFacts(
            external_id=f"{id}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            tags=[f"sample:{id}"],
            metadata={
                "latency": body.get("latency"),
                "states": states,
                **{name: score.get(name) for name in _SCORE_FACTS},
            },
            judgements=list(_judgements(score)),
        ),
        transcripts.build_steps(entries, settings),
        location=location,
    )


def _judgements(score: JSONObject) -> Iterator[RecordedJudgement]:
    if isinstance(score.get("valid"), bool):
        kind = JudgementKind.PASS if score["valid"] else JudgementKind.FAIL
        yield RecordedJudgement(name="valid", kind=kind, text=as_text(score.get("error_type")))


def _request(log: Sequence[JSONValue]) -> JSONObject:
    """Return the request that the log of a result of one turn has."""
    inputs = [item for item in as_objects(log) if item.get("role") == "inference_input"]
    return as_object(inputs[0].get("content")) if inputs else {}


def _tools(log: Sequence[JSONValue]) -> list[JSONValue]:
    return normalize_tools(parse_embedded(_request(log).get("tools")) or [])


def _single(body: JSONObject, log: Sequence[JSONValue], location: str) -> Iterator[TranscriptMessage]:
    request = _request(log)
    question = as_object(body.get("prompt")).get("question")
    prompt = request.get("message") if request else next(iter(as_list(question)), question)
    messages = normalize_messages(parse_embedded(prompt))
    for message in messages:
        yield TranscriptMessage(value=message, location=location)
    counts = {"input_tokens": body.get("input_token_count"), "output_tokens": body.get("output_token_count")}
    usage: JSONObject = {name: int(count) for name, count in counts.items() if is_number(count) and count}
    answer = _answer(body.get("result", body.get("model_result_raw")), "call")
    actions = tuple(_actions(_calls_in(answer["content"]), []))
    thought = as_text(body.get("reasoning_content"))
    if thought:
        text: list[JSONValue] = [{"type": "text", "text": answer["content"]}] if answer["content"] else []
        answer["content"] = [{"type": "thinking", "thinking": thought}, *text]
    yield TranscriptMessage(
        value={**answer, "usage": usage},
        location=location,
        actions=actions,
        request_messages=None if messages else [],
    )


def _turns(turns: list[JSONObject], body: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    for index, turn in enumerate(turns):
        for message in as_list(turn[_QUERY]):
            yield TranscriptMessage(value=message, location=f"{location}/inference_log/{index}")
        steps = sorted((int(match[1]), name) for name in turn if (match := _STEP.fullmatch(name)))
        for number, (_, name) in enumerate(steps):
            events = as_objects(turn[name])
            usage: JSONObject = {
                "input_tokens": _count(body.get("input_token_count"), index, number),
                "output_tokens": _count(body.get("output_token_count"), index, number),
            }
            yield from _step(events, f"{index}-{number}", usage, f"{location}/inference_log/{index}/{name}")


def _count(counts: JSONValue, turn: int, step: int) -> JSONValue:
    for index in (turn, step):
        items = as_list(counts)
        counts = items[index] if index < len(items) else None
    return int(counts) if is_number(counts) and counts else None


def _step(events: list[JSONObject], key: str, usage: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the answer of a step, and the results of its calls, which are in their order."""
    answers = [event for event in events if event.get("role") == "assistant"]
    call_texts = [item for event in events for item in as_list(event.get("model_response_decoded"))]
    results = [event.get("content") for event in events if event.get("role") == "tool"]
    notes: list[JSONValue] = [event.get("content") for event in events if event.get("role") == "handler_log"]
    answer = _answer(answers[0].get("content") if answers else None, key)
    calls = as_objects(answer.get("tool_calls"))
    # A log of few details has no decoded calls.
    actions = () if calls else tuple(_actions(call_texts or _calls_in(answer["content"]), results))
    value: JSONObject = {**answer, "usage": usage, "handler_log": notes}
    yield TranscriptMessage(value=value, location=location, actions=actions)
    if actions and results:
        # The next request has the results of calls in a text as a message of the user.
        texts = "\n".join(map(result_text, results))
        yield TranscriptMessage(value={"role": "user", "content": texts}, location=location, is_injected=True)
    for call, result in zip(calls, results, strict=False):
        text = result_text(result)
        failure: JSONObject = {"error": text} if _ERROR.match(text) else {}
        yield TranscriptMessage(
            value={"role": "tool", "tool_call_id": call["id"], "content": text, **failure}, location=location
        )


def _answer(content: JSONValue, key: str) -> JSONObject:
    """Return an answer: a text, or calls, each an object with the arguments under the name of its tool."""
    calls: list[JSONValue] = [
        {"id": f"{key}-{index}-{number}", "name": name, "arguments": parse_embedded(arguments)}
        for index, item in enumerate(as_list(content))
        for number, (name, arguments) in enumerate(as_object(item).items())
    ]
    if calls:
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": "assistant", "content": "" if content is None else result_text(content)}


def _actions(call_texts: Sequence[JSONValue], results: Sequence[JSONValue]) -> Iterator[TextAction]:
    """Yield the calls in the text of an answer, as they were decoded."""
    for index, item in enumerate(call_texts):
        name, arguments = _read_call(as_text(item))
        output = results[index] if index < len(results) else None
        text = result_text(output) if output is not None else ""
        is_failed = _ERROR.match(text) is not None
        status = StepStatus.ERROR if is_failed else StepStatus.PARTIAL if output is None else StepStatus.OK
        yield TextAction(name=name, arguments=arguments, output=output, error=text if is_failed else "", status=status)


def _calls_in(content: JSONValue) -> list[JSONValue]:
    """Return the calls in a text such as `[find(title="Dune"), count()]`; none of any other text."""
    text = as_text(content).strip().strip("`\n ")[:_LONGEST_CALL]
    try:
        body = ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    items = body.elts if isinstance(body, ast.List) else []
    calls = [item for item in items if isinstance(item, ast.Call)]
    return [*_sources(text, calls)] if len(calls) == len(items) else []


def _sources(text: str, calls: Sequence[ast.Call]) -> Iterator[str]:
    """Yield the texts of calls. `ast.get_source_segment` splits the whole text for each of them."""
    # As the parser counts lines.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").encode().splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    data = b"".join(lines)
    for call in calls:
        end = starts[(call.end_lineno or call.lineno) - 1] + (call.end_col_offset or 0)
        yield data[starts[call.lineno - 1] + call.col_offset : end].decode()


def _read_call(text: str) -> tuple[str, JSONValue]:
    """Return the name and the arguments of a call in the syntax of Python."""
    name = text.partition("(")[0]
    try:
        call = ast.parse(text[:_LONGEST_CALL], mode="eval").body
        if isinstance(call, ast.Call):
            positional = {str(index): _literal(item) for index, item in enumerate(call.args)}
            return name, {**positional, **{item.arg or "**": _literal(item.value) for item in call.keywords}}
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        pass
    return name, {"call": text}


def _literal(node: ast.expr) -> JSONValue:
    """Return a literal of Python as JSON; a value that JSON lacks as its text."""
    value: JSONValue = orjson.loads(orjson.dumps(ast.literal_eval(node), default=str))
    return value
