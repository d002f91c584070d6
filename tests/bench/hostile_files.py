"""Files under 2 MB that are as expensive to import as possible. Each is built on demand."""

import gzip
import io
import json
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any, Final

import orjson

LIMIT: Final = 2_000_000
Files = dict[str, Callable[[], bytes]]
SAMPLE: Final = b'{"id":%d,"epoch":1,"input":"q","target":"a","messages":[{"role":"user","content":"q"}]}'


def repeat_part(begin: bytes, part: Callable[[int], bytes], end: bytes, separator: bytes = b",") -> bytes:
    """Return a file with as many parts as fit into the limit."""
    parts: list[bytes] = []
    size = len(begin) + len(end)
    while (size := size + len(next_part := part(len(parts))) + len(separator)) < LIMIT:
        parts.append(next_part)
    return begin + separator.join(parts) + end


def make_zip(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target.getvalue()


def make_tar(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


def generated_column() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE sessions (id TEXT, created_at INTEGER)")
    connection.execute("INSERT INTO sessions VALUES ('s', 1)")
    connection.execute(
        "CREATE TABLE messages (id INTEGER, session_id TEXT, role TEXT, created_at INTEGER, "
        "content TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000))) VIRTUAL)"
    )
    connection.executemany("INSERT INTO messages VALUES (?, 's', 'user', ?)", [(n, n) for n in range(100)])
    connection.commit()
    return connection.serialize()


def yaml_aliases() -> bytes:
    levels = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    levels += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    return "\n".join(["instance_id: x", "trajectory:", *levels]).encode()


def span(number: int) -> dict[str, Any]:
    return {
        "traceId": f"{1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "s",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
    }


def inspect_log(header: dict[str, Any]) -> bytes:
    """Build a log of many small samples, whose runs share a header."""
    head = orjson.dumps({"version": 2, "status": "success", "eval": {"task": "t", "model": "m/x"}, **header})
    return repeat_part(head[:-1] + b',"samples":[', lambda number: SAMPLE % number, b"]}")


def message(number: int) -> bytes:
    return b'{"role":"%s","content":"%d"}' % ((b"user", b"assistant")[number % 2], number)


def calls_without_results(number: int) -> bytes:
    if number % 2 == 0:
        return b'{"role":"user","content":"go"}'
    return (
        b'{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]}'
        % number
    )


def claude_line(number: int) -> bytes:
    parent = f'"{number - 1}"' if number else "null"
    return (
        f'{{"uuid":"{number}","parentUuid":{parent},"sessionId":"s","type":"user",'
        f'"message":{{"role":"user","content":"x"}}}}'
    ).encode()


def node(number: int, *, chain: bool) -> bytes:
    parent = f'"{number - 1}"' if chain and number else "null"
    return f'"{number}":{{"id":"{number}","parent":{parent},"children":[],"message":null}}'.encode()


def chatgpt(*, chain: bool) -> bytes:
    return repeat_part(b'[{"title":"t","mapping":{', lambda n: node(n, chain=chain), b"}}]")


def many_samples() -> bytes:
    sample = orjson.dumps({"id": 1, "epoch": 1, "input": "x", "messages": [], "output": {}, "scores": {}})
    members = {f"samples/{n}_epoch_1.json": sample.replace(b'"id":1', b'"id":%d' % n) for n in range(8_000)}
    return make_zip({"header.json": orjson.dumps({"version": 2, "eval": {"task": "t", "model": "m"}}), **members})


def length_delimited(field: int, data: bytes) -> bytes:
    size, prefix = len(data), bytearray()
    while size > 127:
        prefix.append(size & 127 | 128)
        size >>= 7
    return bytes([field << 3 | 2, *prefix, size]) + data


def protobuf(part: bytes) -> bytes:
    """Return an export of one scope that repeats the span `part` as often as it fits."""
    scope = part * (LIMIT // len(part) - 20)
    return length_delimited(1, length_delimited(2, scope))


def tiny_span() -> bytes:
    return length_delimited(
        2, length_delimited(1, b"t" * 16) + length_delimited(2, b"s" * 8) + length_delimited(5, b"n")
    )


def bundle_of_values() -> bytes:
    values = b"[" + b"[]," * 30_000_000 + b"0]"
    return make_zip({"manifest.json": b'{"format":"forkpoint-bundle","version":1}', "steps.jsonl": values})


def bundle_of_padding() -> bytes:
    names = [f"artifacts/{n:064x}" for n in range(400)]
    manifest = {
        "format": "forkpoint-bundle",
        "version": 1,
        "members": {name: {"sha256": "", "size": 1} for name in names},
    }
    return make_zip(
        {"manifest.json": orjson.dumps(manifest), "steps.jsonl": b"", **dict.fromkeys(names, b" " * 1_000_000)}
    )


def team_message(number: int) -> bytes:
    return b'{"role":"assistant","name":"%s","content":"%d"}' % ((b"Ann", b"Bob", b"Cid")[number % 3], number)


def sharegpt_turn(number: int, speakers: tuple[str, ...]) -> bytes:
    return json.dumps({"from": speakers[number % len(speakers)], "value": str(number)}).encode()


def metagpt_message(number: int) -> bytes:
    return b'{"content":"%d","role":"Ann","cause_by":"a.Act"}' % number


def chat_line(number: int) -> bytes:
    return b'{"messages":[{"role":"user","content":"%d"},{"role":"assistant","content":"y"}]}' % number


def same_id_line(number: int) -> bytes:
    return b'{"id":"s","conversations":[{"from":"human","value":"%d"},{"from":"gpt","value":"y"}]}' % number


def trace(number: int) -> bytes:
    return orjson.dumps({**span(0), "traceId": f"{number + 1:032x}"})


def tree_of_objects(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


AIDER_START = b"# aider chat started at 2026-01-01 10:00:00\n\n#### Hello  \n\n"
FILES: Final[Files] = {
    "krabs.db, generated column": generated_column,
    "[[],[],…] in gzip, 250 kB": lambda: gzip.compress(b"[" + b"[]," * 60_000_000 + b"[]]", 9),
    "YAML aliases, 1 kB": yaml_aliases,
    "Inspect, long header": lambda: inspect_log({"plan": {"name": "x y," * 240_000}}),
    "Inspect, header of keys": lambda: inspect_log({"plan": {f"k{n:05d}": "v" for n in range(4_000)}}),
    "Inspect, parameters": lambda: inspect_log({"plan": {"config": {f"k{n:05d}": n % 10 for n in range(70_000)}}}),
    "Inspect, header of secrets": lambda: inspect_log(
        {"plan": {f"password{n}": f"hunter2hunter{n}" for n in range(1_000)}}
    ),
    "zip bomb": lambda: make_zip({f"{n}.json": b" " * 100_000_000 for n in range(4)}),
    "zips in a zip": lambda: make_zip({f"{n}.zip": make_zip({"a.json": b" " * 10_000_000}) for n in range(100)}),
    "nested 1,000,000 levels": lambda: b"[" * 1_000_000 + b"]" * 999_990,
    "objects nested 100 levels, many": lambda: repeat_part(b'{"messages":[', lambda n: tree_of_objects(95), b"]}"),
    "OTLP JSON, tiny spans": lambda: repeat_part(
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[', lambda n: orjson.dumps(span(n)), b"]}]}]}"
    ),
    "OTLP JSON, attributes": lambda: repeat_part(
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"'
        + b"1" * 32
        + b'","spanId":"'
        + b"1" * 16
        + b'","name":"s","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[',
        lambda n: b'{"key":"a.%d.b.c","value":{"intValue":"1"}}' % n,
        b"]}]}]}]}",
    ),
    "OTLP protobuf, tiny spans": lambda: protobuf(tiny_span()),
    "OTLP protobuf, empty spans": lambda: protobuf(length_delimited(2, b"")),
    "OTLP protobuf, empty attributes": lambda: protobuf(length_delimited(2, length_delimited(9, b"") * 60)),
    "integer of 2,000,000 digits": lambda: b'{"messages":[{"role":"user","content":' + b"9" * 1_990_000 + b"}]}",
    "many long integers": lambda: repeat_part(b'{"messages":[', lambda n: b"9" * 40, b"]}"),
    "text of digits": lambda: repeat_part(b'{"messages":[', lambda n: b'"' + b"1" * 19 + b'"', b"]}"),
    "object of 180,000 keys": lambda: repeat_part(
        b'{"messages":[{"role":"user","content":"x"}],"metadata":{', lambda n: b'"%d":1' % n, b"}}"
    ),
    "the same key 300,000 times": lambda: repeat_part(
        b'{"messages":[{"role":"user","content":{', lambda n: b'"k":1', b"}}]}"
    ),
    "long text of escapes": lambda: b'{"messages":[{"role":"user","content":"' + b"\\u0001" * 330_000 + b'"}]}',
    "quotes and colons in texts": lambda: repeat_part(
        b'{"messages":[{"role":"user","content":"', lambda n: b'\\\\\\":', b'"}]}', b" "
    ),
    "650,000 lines of {}": lambda: chat_line(0) + b"\n" + b"{}\n" * 650_000,
    "lines of {} in gzip": lambda: gzip.compress(chat_line(0) + b"\n" + b"{}\n" * 100_000_000, 9),
    "broken lines": lambda: chat_line(0) + b"\n" + b"{\n" * 980_000,
    "zip of 18,000 entries": lambda: make_zip({f"{n}": b"" for n in range(18_000)}),
    "tar.gz of empty files": lambda: gzip.compress(make_tar({f"{n}": b"" for n in range(400_000)}))[:LIMIT],
    "tar.gz of short chats": lambda: gzip.compress(make_tar({f"{n}.json": chat_line(n) for n in range(40_000)}))[
        :LIMIT
    ],
    "gzips in a zip": lambda: make_zip(
        {f"{n}.json": gzip.compress(b'{"messages":[' + b" " * 30_000_000, 9) for n in range(60)}
    ),
    "Aider, notes of the program": lambda: repeat_part(AIDER_START, lambda n: b"> a  \n\n", b"", b""),
    "Aider, short turns": lambda: repeat_part(AIDER_START, lambda n: b"#### a  \n\nb\n\n", b"", b""),
    ".eval of 8,000 samples": many_samples,
    "short chats": lambda: repeat_part(b"", chat_line, b"", b"\n"),
    "short chats in gzip": lambda: gzip.compress(b"\n".join(chat_line(n) for n in range(400_000)), 9)[:LIMIT],
    "chat of 50,000 messages": lambda: repeat_part(b'{"messages":[', message, b"]}"),
    "team of 40,000 messages": lambda: repeat_part(b'{"messages":[', team_message, b"]}"),
    "chat without a user": lambda: repeat_part(b'{"messages":[', lambda n: message(2 * n + 1), b"]}"),
    "ShareGPT without a user": lambda: repeat_part(b'{"conversations":[', lambda n: sharegpt_turn(n, ("gpt",)), b"]}"),
    "MetaGPT without a user": lambda: repeat_part(b"[", metagpt_message, b"]"),
    "calls without results": lambda: repeat_part(b'{"messages":[', calls_without_results, b"]}"),
    "ShareGPT, one id in all lines": lambda: repeat_part(b"", same_id_line, b"", b"\n"),
    "OTLP JSON, traces of a large resource": lambda: repeat_part(
        b'{"resourceSpans":[{"resource":{"attributes":[{"key":"x","value":{"stringValue":"%s"}}]},"scopeSpans":[{"spans":['
        % (b"policy " * 130_000),
        trace,
        b"]}]}]}",
    ),
    "ChatGPT, nodes without parents": lambda: chatgpt(chain=False),
    "ChatGPT, a chain of nodes": lambda: chatgpt(chain=True),
    "Claude Code, a chain of lines": lambda: repeat_part(b"", claude_line, b"", b"\n"),
    "who&when, long": lambda: repeat_part(
        b'{"is_correct":false,"question":"q","mistake_agent":"Ann","mistake_step":"1","history":[', team_message, b"]}"
    ),
    "ShareGPT, long": lambda: repeat_part(b'{"conversations":[', lambda n: sharegpt_turn(n, ("human", "gpt")), b"]}"),
    "speaker of many proxies, 60 kB": lambda: orjson.dumps(
        {"mistake_agent": "a", "mistake_step": "0", "history": [{"role": "proxy" * 12_000 + "!", "content": "x"}]}
    ),
    "open fence before blank lines": lambda: orjson.dumps(
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "```" + "\n" * 950_000 + "x"}]}
    ),
    "bundle of values": bundle_of_values,
    "bundle of padding": bundle_of_padding,
}
