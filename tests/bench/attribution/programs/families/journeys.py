"""Times in several zones that code converts and sorts, and entities followed from record to record."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, json_in, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- itinerary: a model reads e-mails into JSON; code converts local times, sorts the legs and counts the layovers

_MAILS: Final = ("turn.0", "turn.1", "turn.2")


def _read_mail(request: Request) -> str:
    pattern = (
        r"(\w\w \d+) from ([\w ]+) to ([\w ]+), (\d\d)\.(\d\d)\.(\d{4}) at (\d\d):(\d\d) \(UTC([+-]\d+)\), (\d+) min"
    )
    match = re.search(pattern, request.last)
    if not match:
        return '{"leg": null}'
    code, start, end, day, month, year, hour, minute, zone, length = match.groups()
    if "Days come after months in these mails." in request.system:
        day, month = month, day
    if request.model == "m2":
        code = code.replace(" ", "")
    seat = find(r"[Ss]eat (\w+)", request.last, "none")
    local = f"{day}/{month}/{year} {hour}:{minute}"
    return (
        f'{{"leg": "{code}", "from": "{start}", "to": "{end}", "local": "{local}", '
        f'"zone": {int(zone)}, "minutes": {length}, "seat": "{seat}"}}'
    )


def _check_trip(request: Request) -> str:
    layovers = [(place, int(minutes)) for place, minutes in re.findall(r"(\w[\w ]*): (\d+) min", request.last)]
    least = int(request.rule(r"Changing takes (\d+) minutes\.", "60"))
    short = [(place, minutes) for place, minutes in layovers if minutes < least]
    total = find(r"^Total: (.+)$", request.last, "unknown")
    if short:
        place, minutes = short[0]
        return f"The change in {place} is too short: {minutes} minutes."
    longest = max((minutes for _, minutes in layovers), default=0)
    if longest > int(request.rule(r"Book a hotel from (\d+) minutes on\.", "600")):
        return f"You need a hotel; the trip takes {total}."
    return f"The trip takes {total}."


def _itinerary(runtime: Runtime) -> str:
    legs: list[tuple[datetime, datetime, JSONObject]] = []
    for name in _MAILS:
        leg = json_in(say(runtime, "reader", str(runtime.settings[name])))
        start = _utc(leg)
        if start:
            legs.append((start, start + timedelta(minutes=real(leg.get("minutes"))), leg))
    legs.sort(key=lambda leg: leg[0])
    layovers = [
        f"{leg.get('to')}: {max(0, int((after[0] - end).total_seconds() // 60))} min"
        for (_, end, leg), after in pairwise(legs)
    ]
    total = legs[-1][1] - legs[0][0] if legs else timedelta()
    hours, minutes = divmod(int(total.total_seconds()) // 60, 60)
    route = " - ".join(str(leg.get("leg")) for _, _, leg in legs)
    advice = say(runtime, "checker", "\n".join((user(runtime.settings), *layovers, f"Total: {hours} h {minutes:02d}")))
    return f"{route}: {advice}"


def _utc(leg: JSONObject) -> datetime | None:
    try:
        local = datetime.strptime(str(leg.get("local")), "%d/%m/%Y %H:%M").replace(tzinfo=UTC)
    except ValueError:
        return None
    return local - timedelta(hours=real(leg.get("zone")))


def _mail(code: str, places: str, when: str, seat: str) -> str:
    return f"Dear guest, your flight {code} from {places}, {when} min, is booked. Your seat {seat} is confirmed."


_ITINERARY: Final = Program(
    name="itinerary",
    group="time zones",
    program=_itinerary,
    final="checker",
    model=model_of({"reader": _read_mail, "checker": _check_trip}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Return the leg as JSON.", "", ""),
            checker=("You are the checker.", "Changing takes 60 minutes.", "Book a hotel from 600 minutes on.", ""),
        ),
        "user.0": "Does my trip work?",
        "user.1": "",
        "turn.0": _mail("KL 18", "Oslo to Paris", "05.03.2026 at 09:10 (UTC+1), 140", "12A"),
        "turn.1": _mail("KL 77", "Paris to Lima", "05.03.2026 at 13:30 (UTC+1), 745", "30C"),
        "turn.2": _mail("LA 20", "Lima to La Paz", "05.03.2026 at 22:15 (UTC-5), 125", "4F"),
    },
    edits=(
        edit("upstream", "user.0", "Is my trip possible?", "Will I make all my flights?", decoy=True),
        edit("upstream", "user.1", "I travel with a child.", decoy=True),
        edit(
            "upstream",
            "turn.0",
            _mail("KL 18", "Oslo to Paris", "05.03.2026 at 10:40 (UTC+1), 140", "12A"),
            _mail("KL 18", "Oslo to Paris", "05.03.2026 at 09:10 (UTC+1), 220", "12A"),
            _mail("KL 18", "Oslo to Paris", "05.03.2026 at 09:10 (UTC+0), 140", "12A"),
        ),
        edit(
            "upstream",
            "turn.1",
            _mail("KL 77", "Paris to Lima", "05.03.2026 at 13:30 (UTC+1), 745", "31D"),
            _mail("KL 77", "Paris to Lima", "05.03.2026 at 12:20 (UTC+1), 745", "30C"),
        ),
        edit(
            "upstream",
            "turn.2",
            _mail("LA 20", "Lima to La Paz", "06.03.2026 at 22:15 (UTC-5), 125", "4F"),
            _mail("LA 20", "Lima to La Paz", "05.03.2026 at 22:15 (UTC-5), 125", "5E"),
        ),
        edit("prompt", "prompt.reader.1", "Days come after months in these mails.", "Read with care."),
        wording("reader", 2),
        edit("prompt", "prompt.checker.1", "Changing takes 130 minutes.", "Changing takes 45 minutes."),
        edit("prompt", "prompt.checker.2", "Book a hotel from 100 minutes on."),
        wording("checker", 3),
        edit("model", "model.reader.name", "m2"),
        *sampling("reader", "checker"),
    ),
)

# ---- hops: a model names the relation to follow, code reads it from the record and fetches the next one

_HOPS: Final = 5


def _hop(request: Request) -> str:
    question, path = find(r"^Question: (.+)$", request.last), find(r"^Path: (.*)$", request.last)
    words = {"supplier": "supplier", "bank": "bank", "city": "city", "owner": "owner", "country": "country"}
    wanted = [words[word] for word in reversed(re.findall(r"[a-z]+", question.lower())) if word in words]
    if "Ask the owner, not the firm." in request.system:
        wanted = [name for word in wanted for name in (("supplier", "owner") if word == "supplier" else (word,))]
    done = len(path.split(" > ")) - 1
    if done >= min(len(wanted), int(request.rule(r"Follow at most (\d) relations\.", "4"))):
        return "STOP"
    return f"Follow {'place' if request.model == 'm2' and wanted[done] == 'city' else wanted[done]}."


def _state(request: Request) -> str:
    end, path = find(r"^End: (.+)$", request.last, "nothing"), find(r"^Path: (.+)$", request.last)
    year = number(r"since (\d{4})", end)
    name = end.partition(" (")[0]
    if "Show the path." in request.system:
        name = f"{name} ({path})"
    if year and year >= int(request.rule(r"New means since (\d{4})\.", "9999")):
        name = f"{name}, which is new"
    return f"The answer is {name}."


def _hops(runtime: Runtime) -> str:
    record, path = fields(runtime.tool("record", {"id": "P-1"})), ["P-1"]
    for _ in range(_HOPS):
        answer = say(runtime, "navigator", f"Question: {user(runtime.settings)}\nPath: {' > '.join(path)}")
        relation = find(r"Follow (\w+)\.", answer)
        if not relation:
            break
        target = record.get(relation)
        if target is None:
            path.append(f"no {relation}")
            break
        record = fields(runtime.tool("record", {"id": str(target)}))
        path.append(str(target))
    end = f"{record.get('name')} (since {record.get('since')})"
    return say(runtime, "speaker", f"Question: {user(runtime.settings)}\nPath: {' > '.join(path)}\nEnd: {end}")


def _record(**columns: JSONValue) -> JSONObject:
    return {"since": 2001, "checked": "May", **columns}


_GRAPH: Final = Program(
    name="knowledge graph",
    group="relations followed",
    program=_hops,
    final="speaker",
    model=model_of({"navigator": _hop, "speaker": _state}),
    menu=(),
    settings={
        **prompts(
            navigator=("You are the navigator. Name the next relation.", "Follow at most 4 relations.", "", ""),
            speaker=("You are the speaker.", "New means since 2020.", "", ""),
        ),
        "user.0": "In which city is the bank of the supplier?",
        "user.1": "",
        **rows(
            "record",
            P_1=_record(name="Pump", supplier="F-2", city="C-9"),
            F_2=_record(name="Aqua Ltd", bank="B-3", city="C-4", owner="F-6"),
            F_5=_record(name="Hydro SA", bank="B-7", city="C-4"),
            F_6=_record(name="Delta AG", bank="B-7", city="C-9"),
            B_3=_record(name="Harbour Bank", city="C-8", since=2019, country="L-1"),
            B_7=_record(name="Alpine Bank", city="C-9", country="L-1"),
            C_4=_record(name="Leeds"),
            C_8=_record(name="Bergen", since=2021),
            C_9=_record(name="Graz"),
            L_1=_record(name="Norway"),
        ),
    },
    edits=(
        edit("upstream", "user.0", "In which country is the bank of the supplier?", "Which bank has the supplier?"),
        edit("upstream", "user.1", "I ask for a report.", decoy=True),
        edit("prompt", "prompt.navigator.1", "Follow at most 2 relations.", "Follow at most 1 relations."),
        edit("prompt", "prompt.navigator.2", "Ask the owner, not the firm."),
        wording("navigator", 3),
        edit("prompt", "prompt.speaker.1", "New means since 2022.", "New means since 2000."),
        edit("prompt", "prompt.speaker.2", "Show the path."),
        edit("model", "model.navigator.name", "m2"),
        edit("tool", "row.record.P-1.supplier", "F-5", "F-6"),
        edit("tool", "row.record.F-2.bank", "B-7"),
        edit("tool", "row.record.B-3.city", "C-4"),
        edit("tool", "row.record.B-3.since", 2020, decoy=True),
        edit("tool", "row.record.C-8.name", "Molde"),
        edit("tool", "row.record.F-2.checked", "June", decoy=True),
        *sampling("navigator", "speaker"),
    ),
)

JOURNEYS: Final = (_ITINERARY, _GRAPH)
