"""The best of several drafts, a memory of facts in a talk, and a small model that hands over to a large one."""

import re
from dataclasses import replace
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, system, user
from tests.bench.attribution.programs.field.parsing import fields, json_in, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, text_of, user_message, wording

# ---- slogans: three writers, marks as JSON, code sorts by the sum; an editor revises until the mark suffices

_ANGLES: Final = ("price", "taste", "origin")
_LINES: Final = {
    "price": "Good {goods} for little money",
    "taste": "{goods} with a rich and round taste",
    "origin": "{goods} from hills near home",
}


def _draft(request: Request) -> str:
    angle, goods = find(r"^Angle: (\w+)", request.last, "taste"), find(r"^Goods: (\w+)", request.last, "food")
    line = _LINES.get(angle, "{goods}").replace("{goods}", goods)
    if request.model == "m2":
        line = f"{line} and soul"
    return f"{line}{'!' if 'Be loud.' in request.system else '.'}"


def _mark(request: Request) -> str:
    text = find(r"^Text: (.+)$", request.last).lower()
    clear = 9 - len(text.split()) + ("please" in text)
    rules = re.findall(r"Give (\d) points for (\w+)\.", request.system)
    tone = sum(int(points) for points, word in rules if word in text)
    return f'{{"clear": {clear}, "tone": {tone}, "rules": {len(rules)}}}'


def _revise(request: Request) -> str:
    text = find(r"^Text: (.+)$", request.last).rstrip(".!")
    words = text.split()
    if "Cut from the front." in request.system:
        return " ".join(words[1:]) + "."
    return " ".join([word for word in words if word not in {"and", "round", "a"}][: len(words) - 1]) + "."


def _slogan(runtime: Runtime) -> str:
    goods = find(r"slogan for (\w+)", user(runtime.settings), "bread")
    drafts = [say(runtime, "writer", f"Goods: {goods}\nAngle: {angle}") for angle in _ANGLES]
    marked = [(_sum_of_marks(runtime, draft), draft) for draft in drafts]
    marked.sort(key=lambda pair: -pair[0])
    mark, best = marked[0]
    for _ in range(3):
        if mark >= real(runtime.settings["least.mark"]):
            break
        best = say(runtime, "editor", f"Text: {best}\nMark: {mark}")
        mark = _sum_of_marks(runtime, best)
    return f"{best} ({mark} points)"


def _sum_of_marks(runtime: Runtime, text: str) -> int:
    marks = json_in(say(runtime, "critic", f"Text: {text}"))
    return int(real(marks.get("clear")) + 2 * real(marks.get("tone")))


_SLOGAN: Final = Program(
    name="slogans",
    group="best of three",
    program=_slogan,
    final="editor",
    model=model_of({"writer": _draft, "critic": _mark, "editor": _revise}),
    menu=(),
    settings={
        **prompts(
            writer=("You are the writer.", "", ""),
            critic=("You are the critic. Mark as JSON.", "Give 2 points for taste.", "Give 1 points for home.", "", ""),
            editor=("You are the editor. Shorten the text.", "", ""),
        ),
        "user.0": "Find a slogan for bread.",
        "user.1": "",
        "least.mark": 8,
    },
    edits=(
        edit("upstream", "user.0", "Find a slogan for cheese.", "Please find a slogan for bread."),
        edit("upstream", "user.1", "It is urgent.", "The shop is small.", decoy=True),
        edit("prompt", "prompt.writer.1", "Be loud."),
        wording("writer", 2),
        edit("prompt", "prompt.critic.1", "Give 1 points for taste.", "Give 3 points for taste.", ""),
        edit("prompt", "prompt.critic.2", "Give 4 points for home.", "Give 2 points for home."),
        edit("prompt", "prompt.critic.3", "Give 5 points for money.", "Give 1 points for gold."),
        wording("critic", 4),
        edit("prompt", "prompt.editor.1", "Cut from the front."),
        wording("editor", 2),
        edit("model", "model.writer.name", "m2"),
        *sampling("writer", "critic"),
    ),
)

# ---- interview: after each turn a model notes facts, code keeps the newest of each and puts them into the prompt


def _note_facts(request: Request) -> str:
    patterns = {
        "age": r"I am (\d+)",
        "sport": r"I (?:do|like|prefer) (\w+)",
        "days": r"(\d) days a week",
        "knee": r"my (knee)",
    }
    pairs = [(name, find(pattern, request.last)) for name, pattern in patterns.items()]
    if "Note no illness." in request.system:
        pairs = [(name, value) for name, value in pairs if name != "knee"]
    noted = [f"{name} = {value}" for name, value in pairs if value]
    return "; ".join(noted) or "nothing"


def _coach(request: Request) -> str:
    facts = dict(re.findall(r"(\w+): (\w+)", find(r"Known: (.+?)\.", request.system)))
    sport, days, age = facts.get("sport", "walking"), int(facts.get("days", "2")), int(facts.get("age", "30"))
    if "knee" in facts and sport in {"running", "football"}:
        sport = request.rule(r"With a bad knee offer (\w+)\.", "cycling")
    minutes = 45 if age < int(request.rule(r"Older people are (\d+) or more\.", "60")) else 30
    if request.model == "m2":
        days = min(days, 3)
    return f"My advice: {sport}, {days} times a week, {minutes} minutes each."


def _interview(runtime: Runtime) -> str:
    known: dict[str, str] = {}
    answer = ""
    for turn in range(3):
        text = str(runtime.settings[f"turn.{turn}"])
        for pair in find(r"(\w+ = .+?)\.?$", say(runtime, "noter", text)).split("; "):
            name, _, value = pair.partition(" = ")
            if value:
                known[name] = value.split()[0].rstrip(".")
        facts = ", ".join(f"{name}: {value}" for name, value in sorted(known.items()))
        prompt = f"{system(runtime.settings, 'coach')} Known: {facts}."
        answer = text_of(runtime.model("coach", [{"role": "system", "content": prompt}, user_message(text)]))
    plan = find(r"My advice: (.+?)\.", answer, "none")
    weekly = number(r"(\d+) times", plan) * number(r"(\d+) minutes", plan)
    return f"Plan: {plan} ({weekly / 60:.1f} h a week)"


_INTERVIEW: Final = Program(
    name="coach",
    group="facts in the prompt",
    program=_interview,
    final="coach",
    model=model_of({"noter": _note_facts, "coach": _coach}),
    menu=(),
    settings={
        **prompts(
            noter=("You are the noter. Note the facts.", "", ""),
            coach=("You are the coach.", "With a bad knee offer swimming.", "Older people are 60 or more.", ""),
        ),
        "user.0": "I want to get fit.",
        "turn.0": "Hello, I am 52 and I like running.",
        "turn.1": "I have time on 4 days a week.",
        "turn.2": "What should I do?",
    },
    edits=(
        edit("upstream", "turn.0", "Hello, I am 66 and I like running.", "Good day, I am 52 and I like running."),
        edit("upstream", "turn.1", "I have time on 2 days a week, and my knee hurts.", "I am free on 4 days a week."),
        edit("upstream", "turn.2", "What should I do? Now I prefer tennis.", "What is your advice?"),
        edit("prompt", "prompt.noter.1", "Note no illness.", "Write short notes."),
        wording("noter", 2),
        edit("prompt", "prompt.coach.1", "With a bad knee offer rowing."),
        edit("prompt", "prompt.coach.2", "Older people are 50 or more.", "Older people are 70 or more."),
        wording("coach", 3),
        edit("model", "model.coach.name", "m2"),
        *sampling("noter", "coach"),
    ),
)

# ---- cascade: a small model rates its own answer; code asks the large one below a limit, or if the check fails


def _small(request: Request) -> str:
    price, parts = real(find(r"'price': ([\d.]+)", request.last)), number(r"'parts': (\d+)", request.last)
    hard = "insur" in request.last.lower() or parts > int(request.rule(r"You know devices of up to (\d+) parts\.", "9"))
    sure = 40 if hard else 85 if request.model == "m1" else 70
    share = int(request.rule(r"A repair costs (\d+) % of the price\.", "30"))
    return f"Estimate: {price * share / 100:.0f} euros. Certainty: {sure} %"


def _large(request: Request) -> str:
    price, parts = real(find(r"'price': ([\d.]+)", request.last)), number(r"'parts': (\d+)", request.last)
    each = int(request.rule(r"Count (\d+) euros per part\.", "10"))
    total = min(each * parts, price)
    if "insur" in request.last.lower():
        total -= int(request.rule(r"The insurance pays (\d+) euros\.", "0"))
    return f"Estimate: {max(total, 0):.0f} euros. Certainty: 95 %"


def _cascade(runtime: Runtime) -> str:
    device = fields(runtime.tool("device", {"serial": find(r"(S-\d+)", user(runtime.settings), "S-0")}))
    if "error" in device:
        device = fields(runtime.tool("old_catalogue", {"kind": find(r"my (\w+)", user(runtime.settings), "device")}))
    text = f"{user(runtime.settings)}\nDevice: {device}"
    answer, source = say(runtime, "small", text), "quick"
    if number(r"Certainty: (\d+)", answer) < real(runtime.settings["least.certainty"]):
        answer, source = say(runtime, "large", text), "thorough"
    price = number(r"Estimate: (\d+) euros", answer)
    verdict = "repair it" if price < 0.4 * real(device.get("price")) else "buy a new one"
    return f"{verdict.capitalize()}: about {price} euros ({source} estimate)."


_CASCADE: Final = Program(
    name="repair estimate",
    group="small and large model",
    program=_cascade,
    final="large",
    model=model_of({"small estimator": _small, "large estimator": _large}),
    menu=(),
    settings={
        **prompts(
            small=("You are the small estimator.", "You know devices of up to 9 parts.", "", ""),
            large=("You are the large estimator.", "Count 12 euros per part.", "", ""),
        ),
        "user.0": "What does it cost to repair my printer S-77?",
        "user.1": "",
        "least.certainty": 60,
        **rows("device", S_77={"name": "Printer", "price": 320, "parts": 8, "made": 2021}),
        **rows("old_catalogue", printer={"name": "Printer", "price": 280, "parts": 11}),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "What does it cost to repair my printer S-78?",
            "How dear is it to repair my printer S-77?",
        ),
        edit("upstream", "user.1", "It is insured.", "Thank you!"),
        edit("prompt", "prompt.small.1", "You know devices of up to 5 parts.", "You know devices of up to 12 parts."),
        edit("prompt", "prompt.small.2", "A repair costs 45 % of the price.", "A repair costs 20 % of the price."),
        wording("small", 3),
        edit("prompt", "prompt.large.1", "Count 18 euros per part.", "Count 7 euros per part."),
        edit("prompt", "prompt.large.2", "The insurance pays 50 euros."),
        wording("large", 3),
        edit("model", "model.small.name", "m2", decoy=True),
        edit("tool", "row.device.S-77.price", 200, 450),
        edit("tool", "row.device.S-77.parts", 10, 7),
        edit("tool", "row.device.S-77.made", 2022, decoy=True),
        edit("tool", "row.device.S-77.error", "timeout after 30 s"),
        *sampling("small", "large"),
    ),
)

_PLAIN: Final = (_SLOGAN, _INTERVIEW, _CASCADE)
WRITERS: Final[tuple[Program, ...]] = (
    *_PLAIN,
    *(
        replace(program, name=f"reworded {program.name}", group=f"{program.group}, reworded", rewords=True)
        for program in (_INTERVIEW, _CASCADE)
    ),
)
