"""Terms that code looks up for a translator, and remarks on chapters that code ranks for an editor."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- glossary: a model extracts the terms, code looks them up by the kind of text, a translator uses what was found


def _extract(request: Request) -> str:
    least = int(request.rule(r"Terms have (\d+) letters or more\.", "4")) - (1 if request.model == "m2" else 0)
    words = [word for word in re.findall(r"[a-z]+", request.last.partition(":")[2]) if len(word) >= least]
    return f"Terms: {', '.join(words)}"


def _translate(request: Request) -> str:
    terms = re.findall(r"^(\w+) = (\w+)$", request.last, re.MULTILINE)
    words = [target.upper() if "Use capitals." in request.system else target for _, target in terms]
    close = request.rule(r"Join with (\w+)\.", "and")
    return f" {close} ".join(words) or "Nothing is known."


def _glossary(runtime: Runtime) -> str:
    settings = runtime.settings
    terms = find(r"Terms: (.+)", say(runtime, "extractor", user(settings))).split(", ")
    lines: list[str] = []
    for term in terms[: int(real(settings["code.translator+lookup.most"], 3))]:
        entry = fields(runtime.tool("lookup", {"term": term}))
        is_right = entry.get("kind") == "sea" or settings["code.translator.kinds"] == "all"
        if entry.get("target") and is_right:
            lines.append(f"{term} = {entry['target']}")
    if settings["code.translator.order"] == "sorted":
        lines.sort()
    return say(runtime, "translator", "\n".join(lines))


_GLOSSARY: Final = Program(
    name="glossary",
    group="glossary",
    program=_glossary,
    final="translator",
    model=model_of({"extractor": _extract, "translator": _translate}),
    menu=(),
    settings={
        **prompts(
            extractor=("You are the extractor. List the terms.", "Terms have 4 letters or more.", "", ""),
            translator=("You are the translator. Translate.", "Join with and.", "Use capitals.", "", ""),
        ),
        "user.0": "Translate: the mast and keel of a boat",
        "user.1": "",
        "code.translator+lookup.most": 3,
        "code.translator.kinds": "sea",
        "code.translator.order": "as found",
        **rows(
            "lookup",
            mast={"target": "Baum", "kind": "sea", "by": "Tor"},
            keel={"target": "Kiel", "kind": "sea", "by": "Tor"},
            boat={"target": "Boot", "kind": "lake", "by": "Una"},
            sail={"target": "Segel", "kind": "sea", "by": "Una"},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Translate: the sail and keel of a boat",
            "Translate: a boat without mast",
        ),
        edit("upstream", "user.1", "It is for a book.", decoy=True),
        edit("prompt", "prompt.extractor.1", "Terms have 5 letters or more."),
        wording("extractor", 2),
        edit("model", "model.extractor.name", "m2"),
        edit("prompt", "prompt.translator.1", "Join with or."),
        edit("prompt", "prompt.translator.2", "Use small letters."),
        wording("translator", 3),
        edit("upstream", "code.translator+lookup.most", 1),
        edit("upstream", "code.translator.kinds", "all"),
        edit("upstream", "code.translator.order", "sorted"),
        edit("tool", "row.lookup.mast.target", "Mast"),
        edit("tool", "row.lookup.boat.kind", "sea"),
        edit("tool", "row.lookup.keel.kind", "river"),
        edit("tool", "row.lookup.mast.by", "Kim", decoy=True),
        edit("tool", "row.lookup.keel.by", "Kim", decoy=True),
        *sampling("extractor", "translator"),
    ),
)

# ---- plot: a reader judges each chapter, code ranks and cuts the remarks, an editor asks for one change


def _judge(request: Request) -> str:
    pages = int(find(r"(\d+) pages", request.last, "0"))
    limit = int(request.rule(r"Long means above (\d+) pages\.", "30"))
    mood = "slow" if pages > limit else "dark" if request.rule(r"Call (\w+) dark\.", "rain") in request.last else "fine"
    return f"{mood} {pages // 3 if request.model == 'm2' else pages // 2}"


def _edit(request: Request) -> str:
    remarks = re.findall(r"^(\w+): (\w+)", request.last, re.MULTILINE)
    first = next((name for name, mood in remarks if mood == request.rule(r"Mend (\w+) chapters\.", "slow")), "")
    praise = f" {len(remarks)} were read." if "Count them." in request.system else ""
    return f"Mend {first}.{praise}" if first else f"Print it.{praise}"


def _plot(runtime: Runtime) -> str:
    settings = runtime.settings
    remarks: list[tuple[int, str]] = []
    for name in ("storm", "island", "return"):
        chapter = fields(runtime.tool("get_chapter", {"name": name}))
        remark = say(runtime, "reader", user(settings), f"{chapter.get('text')}, {chapter.get('pages')} pages")
        mood = find(r"^(\w+)", remark)
        remarks.append((int(find(r"(\d+)", remark, "0")), f"{name}: {mood}"))
        if settings["code.reader+get_chapter.stop"] == "at the first" and "slow" in remark:
            break
    if settings["code.editor.rank"] == "longest":
        remarks.sort(reverse=True)
    kept = remarks[: int(real(settings["code.editor.kept"], 3))]
    return say(runtime, "editor", "\n".join(text for _, text in kept))


_PLOT: Final = Program(
    name="plot review",
    group="plot review",
    program=_plot,
    final="editor",
    model=model_of({"reader": _judge, "editor": _edit}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Judge.", "Long means above 30 pages.", "Call rain dark.", "", ""),
            editor=("You are the editor. Ask for a change.", "Mend slow chapters.", "Count them.", "", ""),
        ),
        "user.0": "Review my novel.",
        "user.1": "",
        "code.reader+get_chapter.stop": "never",
        "code.editor.rank": "as read",
        "code.editor.kept": 3,
        **rows(
            "get_chapter",
            storm={"text": "wind and rain", "pages": 22, "saved": "May 2"},
            island={"text": "a calm beach", "pages": 36, "saved": "May 3"},
        ),
        "row.get_chapter.return.text": "the way home",
        "row.get_chapter.return.pages": 41,
        "row.get_chapter.return.saved": "May 3",
    },
    edits=(
        edit("upstream", "user.0", "Please review my novel.", decoy=True),
        edit("upstream", "user.1", "Be frank.", decoy=True),
        edit("prompt", "prompt.reader.1", "Long means above 38 pages.", "Long means above 20 pages."),
        edit("prompt", "prompt.reader.2", "Call beach dark.", decoy=True),
        wording("reader", 3),
        edit("model", "model.reader.name", "m2", decoy=True),
        edit("prompt", "prompt.editor.1", "Mend dark chapters."),
        edit("prompt", "prompt.editor.2", "Skip numbers."),
        wording("editor", 3),
        edit("upstream", "code.reader+get_chapter.stop", "at the first"),
        edit("upstream", "code.editor.rank", "longest"),
        edit("upstream", "code.editor.kept", 1, 2),
        edit("tool", "row.get_chapter.island.pages", 28),
        edit("tool", "row.get_chapter.storm.text", "a bright morning", decoy=True),
        edit("tool", "row.get_chapter.storm.saved", "May 9", decoy=True),
        edit("tool", "row.get_chapter.return.saved", "May 9", decoy=True),
        *sampling("reader", "editor"),
    ),
)

TEXTS: Final[tuple[Program, ...]] = (_GLOSSARY, _PLOT)
