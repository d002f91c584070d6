"""Recorded text is hostile: the time to search it must not grow with its square. A search stops the whole process."""

import time
from base64 import b64encode
from collections.abc import Callable
from random import Random

import orjson
import pytest

from cockpit.gateway.mcp.messages import MessageStream
from diffing.attribution.passages import _is_distinctive
from diffing.attribution.run_inputs import label_spans
from diffing.sequences import subjects, text_diff
from diffing.sequences.word_hunks import Hunk
from forkpoint.bootstrap import hook
from replay.inspection.core import checkable_values
from replay.proofs.changes import hunks
from traces.core.json_types import JSONValue
from traces.importers.common.names import find_model_name
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.chats import chat, sharegpt
from traces.importers.formats.coding_agents import mini_swe_agent
from traces.importers.formats.evaluations import bfcl
from traces.importers.formats.teams import who_and_when
from traces.importers.formats.teams.speakers import Voice, classify_speaker
from traces.importers.formats.terminal_agents import specstory
from traces.importers.registry import detect
from traces.provenance import short_values
from traces.redaction.secrets import secret_detector

LONG = 60_000
MOST_S = 1.0


def stream_event(stream: MessageStream) -> None:
    for _ in range(LONG):
        stream.add(b"x" * 100)


def detect_yaml(header: str) -> None:
    with pytest.raises(BadFile):
        detect(Sample(name="x", head=header.encode() * (LONG // len(header)), is_complete=True))


def read(parse: Callable[[Source], object], value: JSONValue) -> None:
    list(parse(Source(name="x", data=orjson.dumps(value))))  # type: ignore[call-overload]


def shell_answer(text: str) -> JSONValue:
    return {"info": {}, "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": text}]}


def request(text: str) -> JSONValue:
    return {"messages": [{"role": "user", "content": text}]}


def labelled(role: str) -> JSONValue:
    return {"mistake_agent": "Ann", "mistake_step": "0", "history": [{"role": role, "content": "x"}]}


def tool_notes(attributes: str) -> bytes:
    return f"_**User**_\n\ngo\n\n---\n\n_**Assistant**_\n\n<tool-use {attributes}>x</tool-use>\n".encode()


def calls(text: str, count: int) -> bytes:
    return orjson.dumps({"id": "x", "result": f"[{','.join([text] * count)}]", "input_token_count": 1})


def tagged(text: str) -> JSONValue:
    return {"conversations": [{"from": "human", "value": "go"}, {"from": "gpt", "value": text}]}


CASES: dict[str, Callable[[], object]] = {
    "a speaker of many proxies": lambda: classify_speaker("proxy" * 500 + "!", ""),
    "an open fence before blank lines": lambda: short_values.json_in("```" + "\n" * LONG),
    "an identifier without an end": lambda: short_values.tokens_of("_a" * (LONG // 2) + ":1"),
    "a difference of underscores": lambda: _is_distinctive(
        Hunk(base="_" * LONG, candidate="x1", base_span=(0, LONG), candidate_span=(0, 2))
    ),
    "a name of underscores": lambda: subjects.names("_" * LONG),
    "a message of labels": lambda: label_spans("".join(f"Label {no}: x\n" for no in range(LONG))),
    "spaces at the start of a line": lambda: text_diff.normalise("\n" + " " * LONG + "x"),
    "a command after blank lines": lambda: read(mini_swe_agent.parse, shell_answer("```bash" + "\n" * LONG + "x")),
    "a remark that stays open": lambda: read(who_and_when.parse, labelled("(" * LONG + "x")),
    "blank lines before a number": lambda: [*checkable_values.tokens("\n" * LONG + "x 1")],
    "a long word beside a number": lambda: [*checkable_values.tokens("1 " + "b" * LONG)],
    "points that end no sentence": lambda: hunks.divide(".!" * (LONG // 2) + "x", ""),
    "many calls in an answer": lambda: [*bfcl.parse([Source(name="x", data=calls("a()", 4_900))])],
    "a tagged call of spaces": lambda: read(sharegpt.parse, tagged("<tool_call>x" + " " * LONG + "y")),
    "attributes of a tool in a transcript": lambda: [*specstory.parse(Source(name="x", data=tool_notes("-" * LONG)))],
    "commands without an end": lambda: read(chat.parse, request("<command-name>/x" * (LONG // 15))),
    "a command without arguments": lambda: read(
        chat.parse, request("<command-name>/x</command-name>" + "<command-args>" * (LONG // 14))
    ),
    "a name of agents": lambda: find_model_name("gpt-4 gpt-5 " + "agent " * (LONG // 6) + "\n"),
    "secrets in random letters": lambda: secret_detector().findings(b64encode(Random(1).randbytes(5 * LONG)), ""),
    "many headers of a YAML file": lambda: detect_yaml("proxy:\n"),
    "a large event of an MCP server": lambda: stream_event(MessageStream()),
    "exit codes without an output": lambda: hook.replacement("Process exited with code 0\n" * (LONG // 27), ""),
}


@pytest.mark.parametrize("search", CASES.values(), ids=CASES.keys())
def test_search_time_is_linear(search: Callable[[], object]) -> None:
    start = time.thread_time()
    search()
    assert time.thread_time() - start < MOST_S


def test_proxy_of_user_is_user() -> None:
    assert classify_speaker("my_proxy-agent", "") is Voice.USER
    assert classify_speaker("UserProxyAgent", "") is Voice.USER
    assert classify_speaker("approxy man", "") is Voice.AGENT
