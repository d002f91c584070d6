"""Outputs of tools in JavaScript, and what a rerun makes of their recorded JSON and their form."""

import json
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
FAITHFUL = [
    "undefined",
    "[1, undefined, -0]",
    "new Date(5)",
    "{ b: 1, a: { d: new Date(0), n: NaN } }",
    "Object.assign(Object.create(null), { a: 1 })",
    'JSON.parse(\'{"__proto__": {"x": 1}, "a": 1}\')',
]
# None of them is what its JSON says.
OTHERS = [
    "new Date(NaN)",
    "[1, , 3]",
    "'x'.match(/x/)",
    "{ a: 1, [Symbol('s')]: 2 }",
    "() => 1",
    "Symbol('s')",
    "class List extends Array {}.of(1)",
    "2n ** 70n",
    "new Map([[1, 2]])",
    "new Error('x')",
    "{ a: 1, run() {} }",
    "'caf\\udce9'",
]
PROGRAM = """
import { isDeepStrictEqual } from "node:util";
const { formOf, restore } = await import(process.argv[1]);
const sort = (value) =>
  Array.isArray(value) ? value.map(sort)
  : value === null || typeof value !== "object" ? value
  : Object.fromEntries(Object.keys(value).sort().map((key) => [key, sort(value[key])]));
const results = JSON.parse(process.argv[2]).map((source) => {
  const value = eval(`(${source})`);
  const form = formOf(value);
  const text = typeof value === "bigint" ? undefined : JSON.stringify(value ?? null);
  const result = restore(text === undefined ? null : sort(JSON.parse(text)), form && JSON.parse(JSON.stringify(form)));
  return [result.isFaithful, isDeepStrictEqual(result.value, value)];
});
console.log(JSON.stringify(results));
"""


@cache
def results() -> dict[str, tuple[bool, bool]]:
    """Return for each output whether it is said to be as it was, and whether it is."""
    sources = [*FAITHFUL, *OTHERS]
    command = [str(ROOT / "scripts/with-node"), "node", "--input-type=module", "-e", PROGRAM]
    program = [*command, str(ROOT / "forkpoint/node/forms.js"), json.dumps(sources)]
    output = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    return dict(zip(sources, map(tuple, json.loads(output)), strict=True))


@pytest.mark.parametrize("source", FAITHFUL)
def test_outputs_are_restored(source: str) -> None:
    assert results()[source] == (True, True)


@pytest.mark.parametrize("source", OTHERS)
def test_other_outputs_are_not_faithful(source: str) -> None:
    assert not results()[source][0]


def test_what_is_sent_is_utf_8() -> None:
    program = """
const { wellFormed } = await import(process.argv[1]);
console.log(wellFormed(JSON.stringify(["caf\\udce9", "\\\\ud800", "\\ud83d\\ude42", "\\\\\\udce9"])));
"""
    command = [str(ROOT / "scripts/with-node"), "node", "--input-type=module", "-e", program]
    output = subprocess.run(
        [*command, str(ROOT / "forkpoint/node/session.js")], capture_output=True, check=True
    ).stdout.decode()
    assert json.loads(output) == ["caf\ufffd", "\\ud800", "\U0001f642", "\\\ufffd"]
