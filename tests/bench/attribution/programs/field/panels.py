"""Editorial agents: voters that decide at random at a rate, with a judge; and a bulletin rendered by code."""

import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject

# ---- moderation: five voters read the same post, code counts, a judge decides what is close

_VIEWS: Final = ("a parent", "a lawyer", "a teenager", "a teacher", "an advertiser")
_LIMITS: Final = {"a parent": 1, "a lawyer": 3, "a teenager": 4, "a teacher": 2, "an advertiser": 2}
_WORDS: Final = {"stupid": 1, "idiot": 2, "hate": 2, "kill": 4, "cheap pills": 3}


def _vote(request: Request) -> str:
    view = find(r"^Think like (an? \w+)\.", request.last, "a lawyer")
    post = request.last.partition("Post: ")[2].partition("\nAuthor:")[0].lower()
    score = sum(points for word, points in _WORDS.items() if word in post)
    score += 3 * sum(word.lower() in post for word in re.findall(r"The word (\w+) is serious\.", request.system))
    if "Quotes do not count." in request.system and "»" in post:
        score -= 2
    strikes = number(r"Author: .*?(\d+) strikes", request.last)
    if "Be strict with authors who have strikes." in request.system and strikes:
        score += 1
    limit = _LIMITS.get(view, 2) - (1 if request.model == "m2" else 0)
    return f"Verdict: {'remove' if score >= limit else 'allow'}"


def _decide(request: Request) -> str:
    removals, strikes = number(r"(\d) of 5", request.last), number(r"(\d+) strikes", request.last)
    if removals >= int(request.rule(r"Remove from (\d) votes\.", "3")):
        ban = int(request.rule(r"Ban from (\d) strikes\.", "9"))
        return "Post removed and author banned" if strikes >= ban else "Post removed"
    return "Post hidden from children" if "Hide doubtful posts." in request.system else "Post stays"


def _moderation(runtime: Runtime) -> str:
    author = fields(runtime.tool("get_author", {"name": "kestrel_9"}))
    post = user(runtime.settings)
    line = f"Post: {post}\nAuthor: {author.get('name')}, {author.get('strikes', 0)} strikes"
    votes = [say(runtime, "voter", f"Think like {view}.\n{line}") for view in _VIEWS]
    removals = sum("Verdict: remove" in vote for vote in votes)
    if removals in {0, 5}:
        return "Post removed" if removals else "Post stays"
    return say(runtime, "judge", f"{removals} of 5 voters want to remove it.\n{line}")


_MODERATION: Final = Program(
    name="moderation panel",
    group="votes by chance",
    most=4,
    program=_moderation,
    final="judge",
    model=model_of({"voter": _vote, "judge": _decide}),
    chance=Chance(
        rate=0.08, alternatives=(("Verdict: remove", "Verdict: allow"), ("Verdict: allow", "Verdict: remove"))
    ),
    menu=(),
    settings={
        **prompts(
            voter=("You are the voter. Say whether the post may stay.", "", "", "", ""),
            judge=("You are the judge. Decide close votes.", "Remove from 3 votes.", "Ban from 3 strikes.", "", ""),
        ),
        "user.0": "Only an idiot would park a bike like that.",
        "user.1": "",
        "model.voter.temperature": 0.7,
        "row.get_author.kestrel_9.name": "kestrel_9",
        "row.get_author.kestrel_9.strikes": 1,
        "row.get_author.kestrel_9.joined": "2024-07-30",
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Only a fool would park a bike like that.",
            "»Only an idiot would park a bike like that«, my neighbour said.",
            "I hate it: only an idiot would park a bike like that.",
            "Only an idiot would park his bike like that.",
        ),
        edit("upstream", "user.1", "See you all tomorrow 👋", decoy=True),
        edit("prompt", "prompt.voter.1", "Quotes do not count.", decoy=True),
        edit("prompt", "prompt.voter.2", "Be strict with authors who have strikes.", decoy=True),
        edit("prompt", "prompt.voter.3", "The word bike is serious.", "The word fool is serious."),
        wording("voter", 4),
        edit("model", "model.voter.name", "m2", decoy=True),
        edit("prompt", "prompt.judge.1", "Remove from 4 votes.", "Remove from 5 votes."),
        edit("prompt", "prompt.judge.2", "Ban from 1 strikes.", "Ban from 2 strikes."),
        edit("prompt", "prompt.judge.3", "Hide doubtful posts.", decoy=True),
        wording("judge", 4),
        edit("tool", "row.get_author.kestrel_9.strikes", 3, 0),
        edit("tool", "row.get_author.kestrel_9.joined", "2026-01-02", decoy=True),
        edit("model", "model.judge.max_tokens", 500, decoy=True),
        *sampling("voter", "judge"),
    ),
)

# ---- bulletin: three feeds are merged, sorted, freed of doubles, cut and numbered; an editor refers to the numbers

_FEEDS: Final = ("city", "region", "agency")


def _edit_bulletin(request: Request) -> str:
    lines: list[tuple[str, str, str]] = re.findall(r"^(\d+)\. \[(\w+)\] (.+)$", request.last, re.MULTILINE)
    if not lines:
        return "Lead: 0. No news today."
    topics = re.findall(r"Prefer news about (\w+)\.", request.system)
    number, _, title = next((line for line in lines if line[1] in topics), lines[0])
    if "Skip accidents." in request.system:
        number, _, title = next((line for line in lines if line[1] != "accident"), lines[0])
    mood = "!" if request.temperature > 0.8 else "."
    return f"Lead: {number}. {title}{mood}"


def _headline(request: Request) -> str:
    lead = find(r"Lead text: (.+)$", request.last, "nothing")
    words = int(request.rule(r"Use at most (\d+) words\.", "8"))
    title = " ".join(lead.rstrip(".").split()[:words])
    more = number(r"(\d+) more", request.last)
    tail = f" (+{more})" if more and "Mention how many more there are." in request.system else ""
    return f"{title.upper() if request.model == 'm2' else title}{tail}"


def _key(item: JSONObject) -> str:
    """Return a title without case, marks and spaces, by which doubles are found."""
    return re.sub(r"\W+", "", str(item.get("title")).lower())


def _bulletin(runtime: Runtime) -> str:
    merged: list[JSONObject] = []
    for feed in _FEEDS:
        merged += items(fields(runtime.tool("read_feed", {"feed": feed})).get("items"))
    order = sorted(merged, key=lambda item: (-real(item.get("rank")), str(item.get("title")).casefold()))
    unique = list({_key(item): item for item in reversed(order)}.values())[::-1]
    shown = [item for item in order if item in unique][:5]
    body = "\n".join(f"{place}. [{item.get('topic')}] {item.get('title')}" for place, item in enumerate(shown, 1))
    task = runtime.prompt("task", "{wish}\nNews:\n{body}", {"wish": user(runtime.settings), "body": body})
    choice = say(runtime, "editor", task)
    place = number(r"Lead: (\d+)", choice)
    lead = shown[place - 1] if 0 < place <= len(shown) else {}
    more = len(unique) - 1 if unique else 0
    headline = say(runtime, "headliner", f"{more} more items.\nLead text: {lead.get('title', 'nothing')}")
    return f"#{place} {headline} | {' / '.join(_first(item) for item in shown)}"


def _first(item: JSONObject) -> str:
    """Return the first word of a title."""
    return next(iter(str(item.get("title")).split()), "?")


def _item(title: str, topic: str, rank: int) -> JSONObject:
    return {"title": title, "topic": topic, "rank": rank}


_BULLETIN: Final = Program(
    name="morning bulletin",
    group="lists rendered by code",
    most=5,
    program=_bulletin,
    final="headliner",
    model=model_of({"editor": _edit_bulletin, "headline writer": _headline}),
    menu=(),
    settings={
        **prompts(
            editor=("You are the editor. Choose the lead by its number.", "", "", ""),
            headliner=("You are the headline writer. Write the headline.", "Use at most 6 words.", "", ""),
        ),
        "user.0": "Please choose the lead of the morning bulletin.",
        "user.1": "",
        "row.read_feed.city.items": [
            _item("Bridge at Møllegata closed until Friday", "traffic", 7),
            _item("Library opens on Sundays", "culture", 4),
            _item("Bus and tram collide", "accident", 6),
        ],
        "row.read_feed.city.etag": "a71",
        "row.read_feed.region.items": [
            _item("Bus and tram collide.", "accident", 8),
            _item("Snow expected above 400 metres", "weather", 5),
        ],
        "row.read_feed.agency.items": [
            _item("Interest rate stays at 4.5 percent", "economy", 6),
            _item("LIBRARY OPENS ON SUNDAYS", "culture", 2),
            _item("Élection: two rounds in June", "politics", 3),
        ],
        "row.read_feed.agency.etag": "99c",
    },
    edits=(
        edit("upstream", "user.0", "Choose the lead of the morning bulletin, please.", decoy=True),
        edit("upstream", "user.1", "Yesterday it was the weather.", "God morgen!", decoy=True),
        edit("prompt", "prompt.editor.1", "Prefer news about economy.", "Prefer news about sport."),
        edit("prompt", "prompt.editor.2", "Skip accidents."),
        wording("editor", 3),
        edit("model", "model.editor.temperature", 0.3, 0.9, decoy=True),
        edit("prompt", "prompt.headliner.1", "Use at most 3 words.", "Use at most 12 words."),
        edit("prompt", "prompt.headliner.2", "Mention how many more there are."),
        wording("headliner", 3),
        edit("model", "model.headliner.name", "m2"),
        edit(
            "tool",
            "row.read_feed.city.items",
            [
                _item("Bridge at Møllegata closed until Friday", "traffic", 9),
                _item("Library opens on Sundays", "culture", 4),
                _item("Bus and tram collide", "accident", 6),
            ],
            [
                _item("Library opens on Sundays", "culture", 4),
                _item("Bus and tram collide", "accident", 6),
                _item("Bridge at Møllegata closed until Friday", "traffic", 7),
            ],
            [_item("Bridge at Møllegata closed until Friday", "traffic", 7)],
        ),
        edit(
            "tool",
            "row.read_feed.region.items",
            [_item("Snow expected above 400 metres", "weather", 5)],
            [_item("Bus and tram collide.", "accident", 8), _item("Snow expected above 200 metres", "weather", 7)],
        ),
        edit("tool", "row.read_feed.agency.items", [_item("Interest rate stays at 4.5 percent", "economy", 9)]),
        edit("tool", "row.read_feed.agency.etag", "99d", decoy=True),
        edit("tool", "row.read_feed.city.etag", "a72", decoy=True),
        *sampling("headliner"),
    ),
)

PANELS: Final = (_MODERATION, _BULLETIN)
