"""Records that code merges, sentences that it finds in a memory, and payments that it matches with invoices."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import find
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONValue

# ---- address book: each note is read, code merges those with one telephone number, a writer sums up


def _read_note(request: Request) -> str:
    name = find(r"^([A-Z][\w.]* [A-Z]\w+)", request.last, "unknown")
    if request.model == "m2":
        name = name.split(" ")[-1]
    phone = find(r"(\+?[\d ]{6,})", request.last).strip() or "none"
    town = find(r"\bin (\w+)", request.last, "none")
    mail = find(r"(\w+@\w+)", request.last, "none") if "Note the mail." in request.system else "none"
    skip = request.rule(r"Leave out people in (\w+)\.")
    return "SKIP" if skip and skip == town else f"name={name}; phone={phone}; town={town}; mail={mail}"


def _write_book(request: Request) -> str:
    entries = re.findall(r"^- ([^|]+) \| ([^|]+) \| ([^|]+) \| (.+)$", request.last, re.MULTILINE)
    if request.rule(r"Leave out those without (\w+)\.") == "mail":
        entries = [entry for entry in entries if entry[3] != "none"]
    shown = [f"{name} ({town})" if "Give towns." in request.system else name for name, _, town, _ in entries]
    title = request.rule(r"Call them (\w+)\.", "contacts")
    return f"{len(entries)} {title}: {', '.join(shown) or 'nobody'}."


def _book(runtime: Runtime) -> str:
    settings = runtime.settings
    notes = fields(runtime.tool("get_notes", {"folder": find(r"folder (\w+)", user(settings), "inbox")})).get("notes")
    people: dict[str, dict[str, str]] = {}
    for note in notes if isinstance(notes, list) else []:
        facts = dict(re.findall(r"(\w+)=([^;]+)", say(runtime, "reader", str(note))))
        digits = re.sub(r"\D", "", facts.get("phone", ""))[-int(real(settings["code.writer.digits"], 9)) :]
        entry = people.setdefault(digits or str(len(people)), {})
        for name, value in facts.items():
            if value != "none" and (settings["code.writer.conflict"] == "newest" or name not in entry):
                entry[name] = value
    lines = [
        " | ".join([f"- {facts.get('name', 'unknown')}", digits, facts.get("town", "none"), facts.get("mail", "none")])
        for digits, facts in people.items()
        if facts
    ]
    return say(runtime, "writer", "\n".join([user(settings), *lines]))


_BOOK: Final = Program(
    name="address book",
    group="records merged by code",
    program=_book,
    final="writer",
    model=model_of({"reader": _read_note, "writer": _write_book}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Read the note.", "Note the mail.", "", ""),
            writer=("You are the writer. List them.", "Give towns.", "Call them contacts.", "", ""),
        ),
        "user.0": "Collect the people of the folder inbox.",
        "user.1": "",
        "code.writer.digits": 9,
        "code.writer.conflict": "oldest",
        "row.get_notes.inbox.notes": [
            "Ana Blum, 079 111 22 33, lives in Basel",
            "A. Blum called from +41 79 111 22 33, write to ana@mail",
            "Karl Roth, 044 222 33 44, lives in Bern",
        ],
        "row.get_notes.inbox.owner": "Lea",
        "row.get_notes.archive.notes": ["Eva Lang, 061 333 44 55, lives in Chur, eva@post"],
    },
    edits=(
        edit("upstream", "user.0", "Collect the people of the folder archive.", "List the people of the folder inbox."),
        edit("upstream", "user.1", "Thank you.", "Take your time.", decoy=True),
        edit("prompt", "prompt.reader.1", "", decoy=True),
        edit("prompt", "prompt.reader.2", "Leave out people in Bern."),
        wording("reader", 3),
        edit("model", "model.reader.name", "m2"),
        edit("prompt", "prompt.writer.1", "Hide towns."),
        edit("prompt", "prompt.writer.2", "Call them people."),
        edit("prompt", "prompt.writer.3", "Leave out those without mail."),
        wording("writer", 4),
        edit("upstream", "code.writer.digits", 12),
        edit("upstream", "code.writer.conflict", "newest"),
        edit(
            "tool",
            "row.get_notes.inbox.notes",
            [
                "Ana Blum, 079 111 22 33, lives in Olten",
                "A. Blum called from +41 79 111 22 33, write to ana@mail",
                "Karl Roth, 044 222 33 44, lives in Bern",
            ],
            [
                "Ana Blum, 079 111 22 33, lives in Basel",
                "A. Blum called from +41 79 111 22 38, write to ana@mail",
                "Karl Roth, 044 222 33 44, lives in Bern",
            ],
        ),
        edit("tool", "row.get_notes.inbox.owner", "Tim", decoy=True),
        *sampling("reader", "writer"),
    ),
)

# ---- phrase book: code looks for each sentence in a memory, only new ones are sent

_LEXICON: Final = {"Das": "The", "Haus": "house", "ist": "is", "rot": "red", "alt": "old", "Dach": "roof"}


def _translate(request: Request) -> str:
    lines = re.findall(r"^(\d+)\. (.+)$", request.last, re.MULTILINE)
    lexicon = {**_LEXICON, "Haus": request.rule(r"Haus is (\w+)\.", "house")}
    if request.model == "m2":
        lexicon["alt"] = "ancient"
    return "\n".join(f"{at}. {' '.join(lexicon.get(word, word) for word in text.split(' '))}" for at, text in lines)


def _proofread(request: Request) -> str:
    text = request.last.partition("Text: ")[2]
    if "Join with semicolons." in request.system:
        text = text.replace(". ", "; ")
    ending = request.rule(r"End with (\w+)\.")
    return f"{text} {ending}" if ending else text


def _phrases(runtime: Runtime) -> str:
    settings = runtime.settings
    sentences = [sentence.strip() for sentence in user(settings).split(".") if sentence.strip()]
    pairs = items(
        fields(runtime.tool("get_memory", {"book": str(settings["code.editor+get_memory.book"])})).get("pairs")
    )
    memory = {str(pair.get("de")): str(pair.get("en")) for pair in pairs}
    new = [sentence for sentence in sentences if sentence not in memory]
    request = "\n".join(f"{at}. {sentence}" for at, sentence in enumerate(new, 1))
    answer = say(runtime, "translator", request) if new else ""
    translations = dict(zip(new, re.findall(r"^\d+\. (.+)$", answer, re.MULTILINE), strict=False))
    texts = [memory.get(sentence) or translations.get(sentence, sentence) for sentence in sentences]
    if settings["code.editor.order"] == "reversed":
        texts.reverse()
    return say(runtime, "editor", f"Text: {'. '.join(texts)}.")


_PHRASES: Final = Program(
    name="phrase book",
    group="only new sentences sent",
    program=_phrases,
    final="editor",
    model=model_of({"translator": _translate, "editor": _proofread}),
    menu=(),
    settings={
        **prompts(
            translator=("You are the translator. Translate each line.", "Haus is house.", "", ""),
            editor=("You are the editor. Check the text.", "", "", ""),
        ),
        "user.0": "Das Haus ist alt.",
        "user.1": "Das Dach ist rot.",
        "user.2": "",
        "code.editor+get_memory.book": "common",
        "code.editor.order": "as sent",
        "row.get_memory.common.pairs": [{"de": "Das Dach ist rot", "en": "Its roof is red"}],
        "row.get_memory.common.checked": "May",
        "row.get_memory.old.pairs": [{"de": "Das Haus ist alt", "en": "An old building"}],
    },
    edits=(
        edit("upstream", "user.0", "Das Haus ist rot.", "Das Haus."),
        edit("upstream", "user.2", "Das Dach ist alt.", "Das Haus ist rot."),
        edit("prompt", "prompt.translator.1", "Haus is home.", "Haus is cottage."),
        edit("prompt", "prompt.translator.2", "Translate by the line.", "Mind the grammar.", decoy=True),
        wording("translator", 3),
        edit("model", "model.translator.name", "m2"),
        edit("prompt", "prompt.editor.1", "Join with semicolons."),
        edit("prompt", "prompt.editor.2", "End with Greetings.", "End with Bye."),
        wording("editor", 3),
        edit("model", "model.editor.name", "m2", decoy=True),
        edit("upstream", "code.editor+get_memory.book", "old"),
        edit("upstream", "code.editor.order", "reversed"),
        edit("tool", "row.get_memory.common.pairs", [{"de": "Das Dach ist rot", "en": "Its roof is crimson"}], []),
        edit("tool", "row.get_memory.common.checked", "June", decoy=True),
        *sampling("translator", "editor"),
    ),
)

# ---- bank lines: each line gets a payer, code matches amounts with open invoices, a closer reports


def _label(request: Request) -> str:
    payers = ("Roth", "Blum", "Lang")
    payer = next((name for name in payers if name.lower() in request.last.lower()), "nobody")
    alias, meaning = request.rule(r"(\w+) means \w+\.") or "-", request.rule(r"\w+ means (\w+)\.")
    if payer == "nobody" and alias.lower() in request.last.lower():
        payer = meaning
    if request.model == "m2" and "rent" in request.last.lower():
        payer = "nobody"
    return f"Payer: {payer}"


def _close(request: Request) -> str:
    payments = re.findall(r"^Matched: (\w+) ([\d.]+)$", request.last, re.MULTILINE)
    open_amounts = re.findall(r"^Open: (\w+) ([\d.]+)$", request.last, re.MULTILINE)
    total = sum(float(amount) for _, amount in payments)
    late = " ".join(f"Remind {name} of {amount}." for name, amount in open_amounts)
    fee = request.rule(r"Add a fee of (\d+)\.")
    extra = f" The fee is {fee}." if fee and open_amounts else ""
    unknown = (
        " Ask about unknown lines." if "Report unknown lines." in request.system and "Unknown" in request.last else ""
    )
    return f"{len(payments)} paid, {total:.2f} in all. {late}{extra}{unknown}".strip()


def _bank(runtime: Runtime) -> str:
    settings = runtime.settings
    account = find(r"account (\w+)", user(settings), "main")
    report: list[str] = []
    for line in items(fields(runtime.tool("get_lines", {"account": account})).get("lines")):
        payer = find(r"Payer: (\w+)", say(runtime, "labeller", str(line.get("text"))), "nobody")
        if payer == "nobody":
            report.append(f"Unknown: {line.get('amount')}")
            continue
        due = real(fields(runtime.tool("get_invoice", {"payer": payer})).get("due"))
        paid = real(line.get("amount"))
        is_paid = abs(due - paid) <= real(settings["code.closer.tolerance"])
        report.append(f"Matched: {payer} {paid:.2f}" if is_paid else f"Open: {payer} {due - paid:.2f}")
    return say(runtime, "closer", "\n".join(report))


def _lines(*amounts: int) -> list[JSONValue]:
    texts = ("Transfer K. Roth, invoice 12", "Ana Blum rent March", "Garage 7, thank you")
    return [{"text": text, "amount": amount} for text, amount in zip(texts, amounts, strict=True)]


_BANK: Final = Program(
    name="bank lines",
    group="amounts matched by code",
    program=_bank,
    final="closer",
    model=model_of({"labeller": _label, "closer": _close}),
    menu=(),
    settings={
        **prompts(
            labeller=("You are the labeller. Name the payer.", "Garage means Lang.", "", ""),
            closer=("You are the closer. Report the month.", "Report unknown lines.", "", ""),
        ),
        "user.0": "Close the month of the account main.",
        "user.1": "",
        "code.closer.tolerance": 5,
        "row.get_lines.main.lines": _lines(120, 800, 60),
        "row.get_lines.main.bank": "Cantonal",
        "row.get_lines.second.lines": _lines(120, 700, 60),
        **rows(
            "get_invoice",
            Roth={"due": 120, "sent": "1 March"},
            Blum={"due": 850, "sent": "1 March"},
            Lang={"due": 62, "sent": "3 March"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Close the month of the account second.", "End the month of the account main."),
        edit("upstream", "user.1", "Be quick.", "Good luck.", decoy=True),
        edit("prompt", "prompt.labeller.1", "Garage means Blum.", "Cellar means Lang."),
        edit("prompt", "prompt.labeller.2", "Read the whole line.", decoy=True),
        wording("labeller", 3),
        edit("model", "model.labeller.name", "m2"),
        edit("prompt", "prompt.closer.1", "", decoy=True),
        edit("prompt", "prompt.closer.2", "Add a fee of 20.", "Add a fee of 35."),
        wording("closer", 3),
        edit("model", "model.closer.name", "m2", decoy=True),
        edit("upstream", "code.closer.tolerance", 1, 60),
        edit("tool", "row.get_lines.main.lines", _lines(110, 800, 60), _lines(120, 850, 60)),
        edit("tool", "row.get_lines.main.bank", "Regional", decoy=True),
        edit("tool", "row.get_invoice.Blum.due", 900, 803),
        edit("tool", "row.get_invoice.Lang.due", 90),
        edit("tool", "row.get_invoice.Roth.sent", "9 March", decoy=True),
        *sampling("labeller", "closer"),
    ),
)

RECORDS: Final[tuple[Program, ...]] = (_BOOK, _PHRASES, _BANK)
