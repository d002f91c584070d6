"""Release notes with a counted version, an incident told in groups of log lines, and a release found by halving."""

import re
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- release notes: a labeller reads each change, code counts the next version, a writer writes the notes


def _label(request: Request) -> str:
    text = find(r"^Change: (.+)$", request.last, "").lower()
    if request.rule(r"A (\w+) breaks things\.", "removal") in text:
        return "LABEL breaking"
    if "fix" in text or (request.model == "m2" and "speed" in text):
        return "LABEL fix"
    rest = request.rule(r"Call the rest (\w+)\.", "chore")
    return f"LABEL {rest}"


def _note(request: Request) -> str:
    version, lines = (
        find(r"^Version: ([\d.]+)", request.last, "?"),
        re.findall(r"^\* (.+)$", request.last, re.MULTILINE),
    )
    most = int(request.rule(r"List (\d) changes\.", "3"))
    changes = "; ".join(lines[:most]) or "nothing new"
    close = " Update now." if "Urge them." in request.system and "breaking" not in request.last else ""
    start = request.rule(r"Begin with (\w+)\.", "Version")
    return f"{start} {version}: {changes}.{close}"


def _release(runtime: Runtime) -> str:
    settings = runtime.settings
    name = find(r"notes for (\w+)", user(settings), "core")
    listing = fields(runtime.tool("list_changes", {"project": name}))
    major, minor, patch = (int(real(part)) for part in (str(listing.get("version")) + ".0.0.0").split(".")[:3])
    lines: list[str] = []
    labels: list[str] = []
    for change in items(listing.get("changes"))[: int(real(settings["code.labeller.most"], 9))]:
        answer = say(runtime, "labeller", f"Change: {change.get('text')}\nBy: {change.get('by')}")
        label = find(r"LABEL (\w+)", answer, "chore")
        labels.append(label)
        if label != settings["code.writer.hides"]:
            lines.append(f"* {change.get('text')} ({label})")
    if "breaking" in labels and settings["code.writer.bump"] == "strict":
        major, minor, patch = major + 1, 0, 0
    elif "feature" in labels or "breaking" in labels:
        minor, patch = minor + 1, 0
    else:
        patch += 1
    return say(runtime, "writer", "\n".join([f"Version: {major}.{minor}.{patch}", *lines]))


def _changes(*texts: str) -> list[JSONValue]:
    return [{"text": text, "by": "bot" if "fix" in text else "Ada"} for text in texts]


_RELEASE: Final = Program(
    name="release notes",
    group="version counted from labels",
    program=_release,
    final="writer",
    model=model_of({"labeller": _label, "writer": _note}),
    menu=(),
    settings={
        **prompts(
            labeller=("You are the labeller. Label it.", "A removal breaks things.", "Call the rest feature.", ""),
            writer=("You are the writer. Write notes.", "List 3 changes.", "Begin with Release.", "Urge them.", ""),
        ),
        "user.0": "Write the notes for core.",
        "user.1": "",
        "code.labeller.most": 9,
        "code.writer.hides": "chore",
        "code.writer.bump": "strict",
        **rows(
            "list_changes",
            core={
                "version": "2.4.1",
                "changes": _changes("fix a crash", "speed up the search", "add dark colours"),
                "branch": "main",
            },
            web={"version": "0.9", "changes": _changes("fix the menu"), "branch": "main"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Write the notes for web.", "Draft the notes for core."),
        edit("upstream", "user.1", "Keep it friendly.", decoy=True),
        edit("prompt", "prompt.labeller.1", "A speed breaks things."),
        edit("prompt", "prompt.labeller.2", "Call the rest chore."),
        wording("labeller", 3),
        edit("model", "model.labeller.name", "m2"),
        edit("prompt", "prompt.writer.1", "List 1 changes.", "List 2 changes."),
        edit("prompt", "prompt.writer.2", "Begin with Version."),
        edit("prompt", "prompt.writer.3", "Leave it there."),
        wording("writer", 4),
        edit("upstream", "code.labeller.most", 1, 2),
        edit("upstream", "code.writer.hides", "fix", "feature"),
        edit("upstream", "code.writer.bump", "loose", decoy=True),
        edit("tool", "row.list_changes.core.version", "2.5.0", "3.0.0"),
        edit(
            "tool",
            "row.list_changes.core.changes",
            _changes("fix a crash", "removal of old menus", "add dark colours"),
            _changes("fix a crash", "fix a leak"),
        ),
        edit("tool", "row.list_changes.core.branch", "next", decoy=True),
        *sampling("labeller", "writer"),
    ),
)

# ---- incident: code groups log lines by the time between them, a model names each group, another tells the story


def _name_group(request: Request) -> str:
    text = request.last.lower()
    for word in request.rule(r"Watch ([\w, ]+)\.", "disk").split(", "):
        if word in text:
            count = text.count(word)
            return f"TITLE {word} trouble{f' x{count}' if request.model == 'm2' else ''}"
    return "TITLE quiet time"


def _tell(request: Request) -> str:
    groups = re.findall(r"^(\d\d:\d\d) (.+) \((\d+)\)$", request.last, re.MULTILINE)
    least = int(request.rule(r"Leave out fewer than (\d) lines\.", "1"))
    events = [(start, title) for start, title, count in groups if int(count) >= least]
    if "Latest first." in request.system:
        events = events[::-1]
    story = request.rule(r"Join by (\w+)\.", "then")
    times = "Give the times." in request.system
    return f" {story} ".join(f"{title} at {start}" if times else title for start, title in events) or "nothing happened"


def _minutes(clock: str) -> int:
    return number(r"^(\d\d):", clock) * 60 + number(r":(\d\d)$", clock)


def _incident(runtime: Runtime) -> str:
    settings = runtime.settings
    service = find(r"on (\w+)", user(settings), "shop")
    lines = items(fields(runtime.tool("get_log", {"service": service})).get("lines"))
    lines = [line for line in lines if line.get("level") != settings["code.namer.skips"]]
    groups: list[list[dict[str, JSONValue]]] = []
    for line in lines:
        gap = _minutes(str(line.get("at"))) - _minutes(str(groups[-1][-1].get("at"))) if groups else 0
        if not groups or gap > int(real(settings["code.namer.gap"], 10)):
            groups.append([])
        groups[-1].append(line)
    parts: list[str] = []
    for group in groups[-int(real(settings["code.namer+teller.most"], 9)) :]:
        answer = say(runtime, "namer", "\n".join(str(line.get("text")) for line in group))
        start = group[0 if settings["code.teller.time"] == "first" else -1].get("at")
        title = find(r"TITLE (\w+ \w+(?: x\d)?)", answer, "unknown")
        parts.append(f"{start} {title} ({len(group)})")
    return say(runtime, "teller", user(settings), "\n".join(parts))


def _log(*lines: tuple[str, str, str]) -> list[JSONValue]:
    return [{"at": at, "level": level, "text": text} for at, level, text in lines]


_LINES: Final = (
    ("09:02", "warn", "disk at 91 percent"),
    ("09:07", "warn", "disk at 95 percent"),
    ("09:31", "error", "queue is stuck"),
    ("09:33", "info", "queue has 80 jobs"),
    ("09:58", "error", "login refused"),
)
_INCIDENT: Final = Program(
    name="incident report",
    group="log lines grouped by time",
    program=_incident,
    final="teller",
    model=model_of({"namer": _name_group, "teller": _tell}),
    menu=(),
    settings={
        **prompts(
            namer=("You are the namer. Name it.", "Watch disk, queue, login.", ""),
            teller=("You are the teller. Tell it.", "Join by then.", "Give the times.", "", ""),
        ),
        "user.0": "What happened on shop?",
        "user.1": "",
        "code.namer.skips": "debug",
        "code.namer.gap": 10,
        "code.namer+teller.most": 9,
        "code.teller.time": "first",
        **rows(
            "get_log",
            shop={"lines": _log(*_LINES), "host": "n1"},
            mail={"lines": _log(("10:00", "error", "login refused")), "host": "n2"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "What happened on mail?", "What was wrong on shop?"),
        edit("upstream", "user.1", "Please hurry.", "We wait.", decoy=True),
        edit("prompt", "prompt.namer.1", "Watch queue, login."),
        wording("namer", 2),
        edit("model", "model.namer.name", "m2"),
        edit("prompt", "prompt.teller.1", "Join by and."),
        edit("prompt", "prompt.teller.2", "Hide the times."),
        edit("prompt", "prompt.teller.3", "Latest first.", "Leave out fewer than 2 lines."),
        wording("teller", 4),
        edit("upstream", "code.namer.skips", "warn", "error"),
        edit("upstream", "code.namer.gap", 60, 3),
        edit("upstream", "code.namer+teller.most", 2, 1),
        edit("upstream", "code.teller.time", "last"),
        edit(
            "tool", "row.get_log.shop.lines", _log(*_LINES[2:]), _log(*_LINES[:4], ("09:59", "error", "disk is full"))
        ),
        edit("tool", "row.get_log.shop.host", "n7", decoy=True),
        *sampling("namer", "teller"),
    ),
)
_INCIDENT_REWORDED: Final = replace(
    _INCIDENT,
    name="incident report, reworded",
    group="log lines grouped by time, reworded",
    rewords=True,
)

# ---- halving: code tries the release in the middle until one is left, a reader judges its log, a mailer tells the team


def _read_log(request: Request) -> str:
    slow = number(r"(\d+) ms", request.last)
    limit = int(request.rule(r"Slow is above (\d+) ms\.", "300"))
    errors = "error" in request.last and "Errors are bad." in request.system
    is_bad = slow > limit + (100 if request.model == "m2" else 0) or errors
    return "VERDICT bad" if is_bad else "VERDICT good"


def _mail(request: Request) -> str:
    release, tries = find(r"^First bad: (\S+)", request.last, "none"), number(r"^Tries: (\d+)", request.last)
    if release == "none":
        return "All releases are fine."
    author = find(r"^Author: (\w+)", request.last, "?")
    ask = f" {author}, please look." if "Write to the author." in request.system else ""
    how = f" ({tries} tries)" if "Count the tries." in request.system else ""
    fault = request.rule(r"Call it (\w+)\.", "Broken")
    return f"{fault} since {release}{how}.{ask}"


def _halving(runtime: Runtime) -> str:
    settings = runtime.settings
    service = find(r"release of (\w+)", user(settings), "api")
    names = str(fields(runtime.tool("list_releases", {"service": service})).get("releases")).split(", ")
    low, high = int(real(settings["code.reader+get_build.start"])), len(names) - 1
    tries, author = 0, "?"
    while low < high and tries < int(real(settings["code.reader+get_build.tries"], 9)):
        tries += 1
        middle = (low + high) // 2
        build = fields(runtime.tool("get_build", {"release": names[middle]}))
        if find(r"VERDICT (\w+)", say(runtime, "reader", f"{build.get('log')}, {build.get('ms')} ms"), "good") == "bad":
            high, author = middle, str(build.get("author"))
        else:
            low = middle + 1
    suspect = names[high] if settings["code.mailer.shown"] == "bad" else names[max(0, high - 1)]
    return say(runtime, "mailer", f"First bad: {suspect}\nAuthor: {author}\nTries: {tries}")


_HALVING: Final = Program(
    name="faulty release",
    group="releases halved by code",
    program=_halving,
    final="mailer",
    model=model_of({"reader": _read_log, "mailer": _mail}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Judge.", "Slow is above 300 ms.", "Errors are bad.", ""),
            mailer=("You are the mailer. Tell the team.", "Call it Broken.", "Write to the author.", "", ""),
        ),
        "user.0": "Find the faulty release of api.",
        "user.1": "",
        "code.reader+get_build.start": 0,
        "code.reader+get_build.tries": 9,
        "code.mailer.shown": "bad",
        **rows("list_releases", api={"releases": "r1, r2, r3, r4, r5", "at": "noon"}, app={"releases": "r1, r2"}),
        **rows(
            "get_build",
            r1={"log": "ok", "ms": 120, "author": "Eve", "runner": "x"},
            r2={"log": "ok", "ms": 180, "author": "Fay", "runner": "x"},
            r3={"log": "ok", "ms": 240, "author": "Gil", "runner": "y"},
            r4={"log": "ok", "ms": 350, "author": "Hal", "runner": "y"},
            r5={"log": "one error", "ms": 360, "author": "Ivy", "runner": "y"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Find the faulty release of app.", "Search the faulty release of api."),
        edit("upstream", "user.1", "It is urgent.", decoy=True),
        edit("prompt", "prompt.reader.1", "Slow is above 200 ms.", "Slow is above 400 ms."),
        edit("prompt", "prompt.reader.2", "Errors are fine.", decoy=True),
        wording("reader", 3),
        edit("model", "model.reader.name", "m2"),
        edit("prompt", "prompt.mailer.1", "Call it Slow."),
        edit("prompt", "prompt.mailer.2", "Write to all."),
        edit("prompt", "prompt.mailer.3", "Count the tries."),
        wording("mailer", 4),
        edit("upstream", "code.reader+get_build.start", 3, decoy=True),
        edit("upstream", "code.reader+get_build.tries", 1),
        edit("upstream", "code.mailer.shown", "good"),
        edit("tool", "row.list_releases.api.releases", "r1, r2, r3, r5"),
        edit("tool", "row.list_releases.api.at", "night", decoy=True),
        edit("tool", "row.get_build.r3.ms", 480),
        edit("tool", "row.get_build.r4.author", "Jan"),
        edit("tool", "row.get_build.r3.log", "two errors"),
        edit("tool", "row.get_build.r3.runner", "z", decoy=True),
        edit("tool", "row.get_build.r4.runner", "z", decoy=True),
        *sampling("reader", "mailer"),
    ),
)

LOGS: Final[tuple[Program, ...]] = (_RELEASE, _INCIDENT, _INCIDENT_REWORDED, _HALVING)
