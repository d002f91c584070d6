"""Mappers read one report each; code extracts figures from their answers and merges them into one request."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Edit, Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

Figures = Sequence[tuple[str, int]]  # a site and its figure
Layout = Callable[[Figures], str]


def _count(request: Request) -> str:
    """Count the faults of one report, or only the heavy ones."""
    site = next(iter(re.findall(r"The site (\w+)", request.last)), "unknown")
    pattern = r"(\d+) heavy faults" if "Count only heavy faults." in request.system else r"(\d+) (?:heavy|light) faults"
    total = sum(int(number) for number in re.findall(pattern, request.last))
    return f"The site {site} had {total} faults in the week."


def _judge(request: Request) -> str:
    """Name the worst site and whether it is an alarm, from figures in any layout."""
    figures = [(site, int(number)) for site, number in re.findall(r"(\w+)\W{1,4}(\d+)", request.last)]
    if not figures:
        return "Nothing was counted at any of the sites."
    worst = request.model == "m1" and "Name the best site." not in request.system
    site, number = (max if worst else min)(figures, key=lambda figure: (figure[1], figure[0]))
    limit = int(request.rule(r"More than (\d+) is an alarm\.", "9999"))
    return f"{'Alarm' if number > limit else 'Report'}: {site} with {number}."


def _lines(figures: Figures) -> str:
    return "\n".join(f"{site}: {number}" for site, number in figures)


def _table(figures: Figures) -> str:
    return "\n".join(["| site | faults |", *(f"| {site} | {number} |" for site, number in figures)])


def _as_json(figures: Figures) -> str:
    return json.dumps(dict(figures))


def _total(figures: Figures) -> str:
    """Return only the sum, so that the request contains none of its figures."""
    return f"Faults of all the sites together: all = {sum(number for _, number in figures)}"


def _worst(figures: Figures) -> str:
    site, number = max(figures, key=lambda figure: figure[1])
    return f"Look at this one first: {site}: {number}"


def _rounded_lines(figures: Figures) -> str:
    return "\n".join(f"{site}: {10 * round(number / 10)}" for site, number in figures)


_LAYOUTS: Final[dict[str, Layout]] = {
    "lines": _lines,
    "table": _table,
    "JSON": _as_json,
    "sum": _total,
    "worst": _worst,
    "rounded": _rounded_lines,
}
MODEL: Final = model_of({"counter": _count, "judge": _judge})


def _program(name: str) -> Program:
    layout = _LAYOUTS[name]

    def run(runtime: Runtime) -> str:
        reports = runtime.retrieve("load_reports", "reports of faults at a site", 3)
        answers = [say(runtime, "counter", report) for report in reports]
        matches = [re.search(r"site (\w+) had (\d+)", answer) for answer in answers]
        figures = sorted((match.group(1), int(match.group(2))) for match in matches if match)
        return say(runtime, "judge", f"{user(runtime.settings)}\n{layout(figures)}")

    return Program(
        name=f"merger, {name}",
        group="merger",
        program=run,
        final="judge",
        model=MODEL,
        menu=(),
        settings={
            **prompts(
                counter=("You are the counter.", "", "Be brief."),
                judge=("You are the judge.", "More than 40 is an alarm.", "", "Be brief."),
            ),
            "user.0": "How did the sites do?",
            "user.1": "",
            "doc.r1.text": "The site Basel had 31 heavy faults and 12 light faults.",
            "doc.r1.date": "2025-02-01",
            "doc.r2.text": "The site Bern had 17 heavy faults and 28 light faults.",
            "doc.r2.date": "2025-02-01",
            "doc.r3.text": "The site Chur had 21 heavy faults and 15 light faults.",
            "doc.r3.date": "2025-02-01",
        },
        edits=_EDITS,
    )


def _document(name: str, *texts: JSONValue, decoy: bool = False) -> Edit:
    return edit("retrieval", f"doc.{name}.text", *texts, decoy=decoy)


_EDITS: Final = (
    edit("prompt", "prompt.counter.1", "Count only heavy faults."),
    wording("counter", 2),
    edit("prompt", "prompt.judge.1", "More than 60 is an alarm.", "More than 20 is an alarm."),
    edit("prompt", "prompt.judge.2", "Name the best site."),
    wording("judge", 3),
    edit("model", "model.judge.name", "m2"),
    *sampling("counter", "judge"),
    edit("upstream", "user.0", "Tell me how the sites did.", "Good morning, how did the sites do?", decoy=True),
    _document(
        "r2",
        "The site Bern had 17 heavy faults and 58 light faults.",
        "The site Bern had 77 heavy faults and 28 light faults.",
    ),
    _document(
        "r1",
        "The site Basel had 11 heavy faults and 12 light faults.",
        "The site Basel had 131 heavy faults and 2 light faults.",
    ),
    _document("r3", "The site Chur had 21 heavy faults and 15 light faults, as ever.", decoy=True),
)

MERGERS: Final = tuple(_program(name) for name in _LAYOUTS)
