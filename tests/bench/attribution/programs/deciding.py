"""Code whose next request depends on an answer: a critic's approval, a complete form, an election's winner."""

import json
import re
from collections import Counter
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.programs.model import Request, model_of, parse
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- a critic, called until it approves


def _compose(request: Request) -> str:
    wishes = re.findall(r"MORE: (\w+)", request.spoken)
    parts = ["a greeting", *wishes, *(["a joke"] if "Add a joke." in request.system else [])]
    return f"The speech has {' and '.join(parts)} for {request.rule(r'Speak to the (.+?)[.]', 'guests')}."


def _criticise(request: Request) -> str:
    required_words = re.findall(r"It needs (?:a )?(\w+)\.", request.system)
    missing = [word for word in required_words if word not in request.last]
    if not missing or (request.model == "m2" and len(request.last.split()) > 9):
        return "ACCEPT. Well done."
    return f"REVISE. I would like to have {missing[0]} in it."


def _speech(runtime: Runtime) -> str:
    task = user(runtime.settings)
    wishes: list[str] = []
    text = say(runtime, "author", task)
    for _ in range(3):
        verdict = say(runtime, "critic", f"Judge this: {text}")
        if verdict.startswith("ACCEPT"):
            break
        wishes.append(f"MORE: {verdict.split('have ')[1].split(' in it')[0]}")
        text = say(runtime, "author", task, "\n".join(wishes))
    return text


_SPEECH: Final = Program(
    name="loop, critic",
    group="loop",
    program=_speech,
    final="author",
    model=model_of({"author": _compose, "critic": _criticise}),
    menu=(),
    settings={
        **prompts(
            author=("You are the author.", "Speak to the guests.", "", ""),
            critic=("You are the critic.", "It needs thanks.", "", ""),
        ),
        "user.0": "Write a speech.",
        "user.1": "",
    },
    edits=(
        edit("prompt", "prompt.author.1", "Speak to the family."),
        edit("prompt", "prompt.author.2", "Add a joke."),
        wording("author", 3),
        edit("prompt", "prompt.critic.1", "It needs warmth.", ""),
        edit("prompt", "prompt.critic.2", "It needs a poem."),
        wording("critic", 3),
        edit("model", "model.critic.name", "m2"),
        edit("upstream", "user.1", "It is for tonight.", "Thank you.", decoy=True),
        *sampling("author", "critic"),
    ),
)

# ---- a form, requested again until it is complete


def _extract(request: Request) -> str:
    details = dict(re.findall(r"(guest|nights|room): (\w+)", request.spoken))
    missing_fields = re.findall(r"lacks (\w+)", request.spoken)
    fields = ["guest", *(["nights"] if "Never leave out nights." in request.system else []), *missing_fields]
    if request.model == "m2":
        fields.append("room")
    return json.dumps({name: details.get(name, "1") for name in dict.fromkeys(fields)})


def _confirm(request: Request) -> str:
    guest, nights = (next(iter(re.findall(rf"{key} = (\w+)", request.last)), "") for key in ("guest", "nights"))
    rate = int(request.rule(r"A night costs (\d+) francs\.", "100"))
    cost = rate * int(nights) if nights.isdecimal() else rate
    return f"{guest} pays {cost} francs{' in advance' if 'Ask for the money first.' in request.system else ''}."


def _booking(runtime: Runtime) -> str:
    letter = user(runtime.settings)
    form = parse(say(runtime, "reader", letter))
    for _ in range(2):
        missing = next((name for name in ("guest", "nights") if name not in form), "")
        if not missing:
            break
        form = parse(say(runtime, "reader", letter, f"The form lacks {missing}."))
    return say(runtime, "porter", f"guest = {form.get('guest')}\nnights = {form.get('nights')}")


_BOOKING: Final = Program(
    name="loop, form",
    group="loop",
    program=_booking,
    final="porter",
    model=model_of({"reader": _extract, "porter": _confirm}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader.", "", ""),
            porter=("You are the porter.", "A night costs 80 francs.", "", ""),
        ),
        "user.0": "guest: Meier, nights: 3, room: 12",
        "user.1": "",
    },
    edits=(
        edit("prompt", "prompt.reader.1", "Never leave out nights.", decoy=True),
        wording("reader", 2),
        edit("prompt", "prompt.porter.1", "A night costs 95 francs."),
        edit("prompt", "prompt.porter.2", "Ask for the money first."),
        wording("porter", 3),
        edit("model", "model.reader.name", "m2", decoy=True),
        edit("upstream", "user.0", "guest: Meier, nights: 5, room: 12", "guest: Kunz, nights: 3, room: 12"),
        edit("upstream", "user.1", "We arrive late.", decoy=True),
        *sampling("reader", "porter"),
    ),
)

# ---- votes, which the code counts


def _vote(request: Request) -> str:
    likes = request.rule(r"You like (\w+)\.", "none")
    names = re.findall(r"\b(Aare|Birs|Cher)\b", request.last)
    choice = likes if likes in names else (names or ["none"])[0 if request.model == "m1" else -1]
    return f"After all I vote for {choice}."


def _announce(request: Request) -> str:
    name, votes = next(iter(re.findall(r"(\w+) with (\d) votes", request.last)), ("nothing", "0"))
    clear = int(votes) >= int(request.rule(r"(\d) votes are clear\.", "3"))
    return f"The ship is called {name}{'' if clear else ', if nobody objects'}."


def _election(runtime: Runtime) -> str:
    ballot = user(runtime.settings)
    answers = [say(runtime, node, ballot) for node in ("captain", "cook", "pilot")]
    votes = Counter(re.findall(r"vote for (\w+)", " ".join(answers)))
    name, count = min(votes.items(), key=lambda item: (-item[1], item[0]))
    return say(runtime, "speaker", f"{name} with {count} votes")


_ELECTION: Final = Program(
    name="votes",
    group="votes",
    program=_election,
    final="speaker",
    model=model_of({"voter": _vote, "speaker": _announce}),
    menu=(),
    settings={
        **prompts(
            captain=("You are the voter.", "You like Aare.", "", "The captain."),
            cook=("You are the voter.", "You like Aare.", "", "The cook."),
            pilot=("You are the voter.", "You like Birs.", "", "The pilot."),
            speaker=("You are the speaker.", "2 votes are clear.", ""),
        ),
        "user.0": "The names are Aare, Birs and Cher.",
        "user.1": "",
    },
    edits=(
        edit("prompt", "prompt.captain.1", "You like Birs.", "You like Cher."),
        edit("prompt", "prompt.cook.1", "You like Birs.", "You like Cher."),
        edit("prompt", "prompt.pilot.1", "You like Aare.", "You like Cher."),
        wording("captain", 2),
        wording("cook", 2),
        edit("prompt", "prompt.speaker.1", "3 votes are clear."),
        wording("speaker", 2),
        edit("upstream", "user.0", "The names are Birs and Cher.", "The names are Cher, Birs and Aare."),
        edit("upstream", "user.1", "Please vote.", decoy=True),
        *sampling("captain", "cook", "speaker"),
    ),
)

DECIDING: Final = (_SPEECH, _BOOKING, _ELECTION)
