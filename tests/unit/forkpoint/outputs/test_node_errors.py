"""Errors of tools in JavaScript, and those that a rerun throws in their place."""

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]
PROGRAM = """
const { describeError, formOfError, restoreError } = await import(process.argv[1]);
class Busy extends Error {
  name = "Busy";
  retryAfter = 3;
  since = new Date(0);
}
const errors = [
  new RangeError("x"),
  Object.assign(new TypeError("y"), { code: "E1", data: { b: 1, a: undefined } }),
  new Busy("z"),
  Object.assign(new Error("s"), { socket: new Map([[1, 2]]), code: 1 }),
];
const results = errors.map((error) => {
  const form = formOfError(error);
  const again = restoreError(describeError(error), form && JSON.parse(JSON.stringify(form)));
  const { name, ...fields } = again.error;
  return [`${name}: ${again.error.message}`, again.error instanceof TypeError, fields, again.isFaithful];
});
console.log(JSON.stringify(results));
"""


def test_error_has_its_properties_again() -> None:
    command = [str(ROOT / "scripts/with-node"), "node", "--input-type=module", "-e", PROGRAM]
    program = [*command, str(ROOT / "forkpoint/node/errors.js")]
    results: Any = json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout)
    assert results == [
        ["RangeError: x", False, {}, True],
        ["TypeError: y", True, {"code": "E1", "data": {"b": 1}}, True],
        ["Busy: z", False, {"retryAfter": 3, "since": "1970-01-01T00:00:00.000Z"}, True],
        ["Error: s", False, {"code": 1}, False],
    ]
