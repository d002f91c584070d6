"""Songs that code fills into an hour, a knock-out of logos, and dates that code repeats and moves."""

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.programs.field.parsing import fields, items, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import (
    Program,
    edit,
    sampling,
    say,
    system_message,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONObject, JSONValue

# ---- radio: a curator chooses a mood, code fills an hour with songs, a host announces them


def _choose_mood(request: Request) -> str:
    wish = request.last.lower()
    mood = "calm" if request.rule(r"Mornings are for (\w+)\.", "work") in wish else "wild"
    if "rain" in wish and request.model == "m2":
        mood = "calm"
    return f"Mood: {mood}"


def _announce(request: Request) -> str:
    songs = re.findall(r"^- (\w+) by (\w+)$", request.last, re.MULTILINE)
    most = int(request.rule(r"Name (\d) songs\.", "2"))
    link = request.rule(r"Link them with (\w+)\.", "then")
    titles = f" {link} ".join(
        f"{song} by {band}" if "Name the bands." in request.system else song for song, band in songs[:most]
    )
    rest = number(r"^Minutes left: (\d+)", request.last)
    news = " News at the end." if rest >= int(request.rule(r"News need (\d+) minutes\.", "6")) else ""
    return f"You hear {titles or 'nothing'}.{news}"


def _radio(runtime: Runtime) -> str:
    settings = runtime.settings
    mood = find(r"Mood: (\w+)", say(runtime, "curator", user(settings)), "wild")
    songs = items(fields(runtime.tool("find_songs", {"mood": mood})).get("songs"))
    if settings["code.host.order"] == "short first":
        songs.sort(key=lambda song: real(song.get("minutes")))
    left = real(settings["code.host.minutes"], 20)
    lines: list[str] = []
    for song in songs:
        if real(song.get("minutes")) <= left and len(lines) < int(real(settings["code.host.most"], 9)):
            left -= real(song.get("minutes"))
            lines.append(f"- {song.get('title')} by {song.get('band')}")
    return say(runtime, "host", "\n".join([f"Mood: {mood}", *lines, f"Minutes left: {left:g}"]))


def _songs(*songs: tuple[str, str, int]) -> list[JSONValue]:
    return [{"title": title, "band": band, "minutes": minutes} for title, band, minutes in songs]


_CALM: Final = (("Lake", "Moss", 7), ("Snow", "Fern", 4), ("Dusk", "Moss", 9), ("Hay", "Oats", 3))
_RADIO: Final = Program(
    name="radio hour",
    group="songs filled into an hour",
    program=_radio,
    final="host",
    model=model_of({"curator": _choose_mood, "host": _announce}),
    menu=(),
    settings={
        **prompts(
            curator=("You are the curator. Choose a mood.", "Mornings are for breakfast.", ""),
            host=(
                "You are the host. Announce.",
                "Name 3 songs.",
                "Link them with then.",
                "News need 5 minutes.",
                "Name the bands.",
                "",
            ),
        ),
        "user.0": "Music for a breakfast in the garden.",
        "user.1": "",
        "code.host.order": "as found",
        "code.host.minutes": 20,
        "code.host.most": 9,
        **rows(
            "find_songs",
            calm={"songs": _songs(*_CALM), "shelf": "A"},
            wild={"songs": _songs(("Fire", "Axe", 5), ("Rust", "Axe", 6)), "shelf": "C"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Music for a party in the garden.", "Songs for a breakfast in the garden."),
        edit("upstream", "user.1", "We are ten.", "It is sunny.", decoy=True),
        edit("prompt", "prompt.curator.1", "Mornings are for work."),
        wording("curator", 2),
        edit("model", "model.curator.name", "m2", decoy=True),
        edit("prompt", "prompt.host.1", "Name 1 songs.", "Name 2 songs."),
        edit("prompt", "prompt.host.2", "Link them with and."),
        edit("prompt", "prompt.host.3", "News need 0 minutes."),
        edit("prompt", "prompt.host.4", "Hide the bands."),
        wording("host", 5),
        edit("model", "model.host.max_tokens", 4),
        edit("upstream", "code.host.order", "short first"),
        edit("upstream", "code.host.minutes", 12, 30),
        edit("upstream", "code.host.most", 2, 1),
        edit("tool", "row.find_songs.calm.songs", _songs(*_CALM[1:]), _songs(*_CALM[:2], ("Dawn", "Kelp", 8))),
        edit("tool", "row.find_songs.calm.shelf", "B", decoy=True),
        edit("tool", "row.find_songs.wild.shelf", "D", decoy=True),
        *sampling("curator", "host"),
    ),
)

# ---- contest: code draws pairs of logos, a judge decides each pair, a speaker announces the winner


def _decide(request: Request) -> str:
    sides = [(find(rf"^{side}: (\w+)", request.last), find(rf"^{side}: (.+)$", request.last)) for side in "AB"]
    wanted = re.findall(r"Look for (\w+)\.", request.system) + (["bold"] if request.model == "m2" else [])
    points = [sum(word in text for word in wanted) for _, text in sides]
    return f"Winner: {sides[int(points[1] > points[0])][0]}"


def _proclaim(request: Request) -> str:
    winner, rounds = find(r"^Winner: (\w+)", request.last, "nobody"), number(r"^Rounds: (\d+)", request.last)
    loser = find(r"^Last beaten: (\w+)", request.last, "nobody")
    title = request.rule(r"Call it the (\w+)\.", "logo")
    against = f" It beat {loser}." if "Name the last one beaten." in request.system else ""
    short = f" It took {rounds} rounds." if "Count the rounds." in request.system else ""
    return f"The {title} is {winner}.{against}{short}"


def _contest(runtime: Runtime) -> str:
    settings = runtime.settings
    names = str(fields(runtime.tool("list_logos", {"brand": find(r"for (\w+)", user(settings), "Nord")})).get("names"))
    field = names.split(", ")
    if settings["code.judge.seeds"] == "second first":
        field = field[1:] + field[:1]
    field = field[: int(real(settings["code.judge+get_logo.places"], 4))]
    looks = {name: str(fields(runtime.tool("get_logo", {"name": name})).get("look")) for name in field}
    loser, rounds = "nobody", 0
    while len(field) > 1:
        rounds += 1
        winners: list[str] = []
        for first, second in zip(field[::2], field[1::2], strict=False):
            brief = f"Brief: {user(settings)}\nA: {first} {looks[first]}\nB: {second} {looks[second]}"
            winner = find(r"Winner: (\w+)", say(runtime, "judge", brief), first)
            loser = second if winner == first else first
            winners.append(winner if settings["code.judge.rule"] == "winner" else loser)
        field = winners + field[len(field) - len(field) % 2 :]
    return say(runtime, "speaker", f"Winner: {field[0]}\nLast beaten: {loser}\nRounds: {rounds}")


_CONTEST: Final = Program(
    name="logo contest",
    group="knock-out of pairs",
    program=_contest,
    final="speaker",
    model=model_of({"judge": _decide, "speaker": _proclaim}),
    menu=(),
    settings={
        **prompts(
            judge=("You are the judge. Decide.", "Look for round.", "Look for blue.", "", ""),
            speaker=("You are the speaker. Tell us.", "Call it the winner.", "Name the last one beaten.", "", ""),
        ),
        "user.0": "Choose a logo for Nord.",
        "user.1": "",
        "code.judge.seeds": "as listed",
        "code.judge.rule": "winner",
        "code.judge+get_logo.places": 4,
        **rows(
            "list_logos", Nord={"names": "Anchor, Birch, Crown, Drop", "since": "May"}, Sud={"names": "Crown, Birch"}
        ),
        **rows(
            "get_logo",
            Anchor={"look": "bold and blue", "by": "Una"},
            Birch={"look": "thin and green", "by": "Vic"},
            Crown={"look": "round and gold", "by": "Wes"},
            Drop={"look": "round and blue", "by": "Xia"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Choose a logo for Sud.", "Pick a logo for Nord."),
        edit("upstream", "user.1", "Take your time.", decoy=True),
        edit("prompt", "prompt.judge.1", "Look for green."),
        edit("prompt", "prompt.judge.3", "Look for bold."),
        wording("judge", 4),
        edit("model", "model.judge.name", "m2"),
        edit("prompt", "prompt.speaker.1", "Call it the champion."),
        edit("prompt", "prompt.speaker.2", "Hide the last one beaten."),
        edit("prompt", "prompt.speaker.3", "Count the rounds."),
        wording("speaker", 4),
        edit("upstream", "code.judge.seeds", "second first"),
        edit("upstream", "code.judge.rule", "loser"),
        edit("upstream", "code.judge+get_logo.places", 2, 3),
        edit("tool", "row.list_logos.Nord.names", "Anchor, Crown, Birch, Drop", "Birch, Crown"),
        edit("tool", "row.list_logos.Nord.since", "June", decoy=True),
        edit("tool", "row.get_logo.Drop.look", "square and grey"),
        edit("tool", "row.get_logo.Birch.look", "thin and pale", decoy=True),
        edit("tool", "row.get_logo.Anchor.by", "Yan", decoy=True),
        *sampling("judge", "speaker"),
    ),
)
_CONTEST_BY_CHANCE: Final = replace(
    _CONTEST,
    name="logo contest, by chance",
    group="knock-out of pairs, by chance",
    chance=Chance(rate=0.1, alternatives=(("Winner: Anchor", "Winner: Birch"), ("Winner: Drop", "Winner: Crown"))),
    controls=8,
)

# ---- plants: a gardener names the care, code repeats and moves the dates, a clerk answers, also a later question


def _care(request: Request) -> str:
    days = int(request.rule(r"Water every (\d+) days\.", "7"))
    if "dry" in request.last and "Mind dry soil." in request.system:
        days -= 2
    feed = "feed" if request.model == "m1" and "bloom" in request.last else "rest"
    return f"EVERY {days} THEN {feed}"


def _date_clerk(request: Request) -> str:
    dates = re.findall(r"\d{4}-\d\d-\d\d", request.spoken)
    most = int(request.rule(r"Name (\d) dates\.", "2"))
    days = dates[-1:] if "last" in request.last else dates[:most]
    texts = [".".join(day.split("-")[::-1]) if "Write days first." in request.system else day for day in days]
    care = find(r"^Then: (\w+)", request.spoken, "rest")
    extra = f" {care.capitalize()} it too." if care == request.rule(r"Mention to (\w+)\.", "feed") else ""
    return f"Water it on {' and '.join(texts) or 'no day'}.{extra}"


def _calendar(runtime: Runtime) -> str:
    settings = runtime.settings
    plant = find(r"my (\w+)", user(settings), "fern")
    card = fields(runtime.tool("get_plant", {"plant": plant}))
    care = say(runtime, "gardener", f"{user(settings)}\nSoil: {card.get('soil')}\nNow: {card.get('state')}")
    day = date(2026, 3, 2) + timedelta(days=int(real(settings["code.clerk.start"])))
    step = timedelta(days=max(1, number(r"EVERY (\d+)", care, 7)))
    dates: list[date] = []
    for _ in range(int(real(settings["code.clerk.times"], 4))):
        moves = settings["code.clerk.sundays"] == "move" and day.weekday() == 6
        dates.append(day + timedelta(days=1) if moves else day)
        day += step
    calendar = ", ".join(f"{day}" for day in dates)
    then = find(r"THEN (\w+)", care, "rest")
    opening = user_message(f"Plant: {plant}\nDates: {calendar}\nThen: {then}")
    talk: list[JSONValue] = [system_message(runtime, "clerk"), opening]
    answer = runtime.model("clerk", talk)
    if not settings["turn.1"]:
        return text_of(answer)
    follow: JSONObject = user_message(str(settings["turn.1"]))
    return text_of(runtime.model("clerk", [*talk, answer, follow]))


_CALENDAR: Final = Program(
    name="plant calendar",
    group="dates repeated by code",
    program=_calendar,
    final="clerk",
    model=model_of({"gardener": _care, "clerk": _date_clerk}),
    menu=(),
    settings={
        **prompts(
            gardener=("You are the gardener. Name the care.", "Water every 6 days.", "Mind dry soil.", ""),
            clerk=("You are the clerk. Answer.", "Name 2 dates.", "Mention to feed.", "Write days first.", ""),
        ),
        "user.0": "When do I water my orchid?",
        "user.1": "",
        "turn.1": "And which days come first?",
        "code.clerk.start": 2,
        "code.clerk.times": 4,
        "code.clerk.sundays": "move",
        **rows(
            "get_plant",
            orchid={"soil": "dry", "state": "in bloom", "pot": "clay"},
            cactus={"soil": "sand", "state": "asleep", "pot": "tin"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "When do I water my cactus?", "Tell me when to water my orchid."),
        edit("upstream", "user.1", "It is by the window.", "Thank you.", decoy=True),
        edit("upstream", "turn.1", "And which day is the last?", "And which days are the first?"),
        edit("prompt", "prompt.gardener.1", "Water every 9 days."),
        edit("prompt", "prompt.gardener.2", "Never mind the soil."),
        wording("gardener", 3),
        edit("model", "model.gardener.name", "m2"),
        edit("prompt", "prompt.clerk.1", "Name 3 dates.", "Name 1 dates."),
        edit("prompt", "prompt.clerk.2", "Mention to rest."),
        edit("prompt", "prompt.clerk.3", "Write years first."),
        wording("clerk", 4),
        edit("upstream", "code.clerk.start", 5, 0),
        edit("upstream", "code.clerk.times", 1),
        edit("upstream", "code.clerk.sundays", "stay"),
        edit("tool", "row.get_plant.orchid.soil", "wet"),
        edit("tool", "row.get_plant.orchid.state", "asleep"),
        edit("tool", "row.get_plant.orchid.pot", "glass", decoy=True),
        *sampling("gardener", "clerk"),
    ),
)

PROGRAMMES: Final[tuple[Program, ...]] = (_RADIO, _CONTEST, _CONTEST_BY_CHANCE, _CALENDAR)
