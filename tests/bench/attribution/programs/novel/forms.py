"""A form whose units code converts, and a schedule that a validator sends back."""

import json
import re
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, json_in, real
from tests.bench.attribution.programs.later.reading import decimal, find, number
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
from traces.core.json_types import JSONValue

# ---- parcels: a model reads sizes, code converts them and computes, a clerk picks a class, a writer states the price


def _read_parcel(request: Request) -> str:
    text = request.last
    weight = find(r"weighs ([\d.]+ (?:lb|kg))", text, "1 kg")
    sizes = find(r"measures ([\d.]+ by [\d.]+ by [\d.]+ (?:in|cm))", text, "10 by 10 by 10 cm")
    value = find(r"worth ([\d,]+ (?:usd|eur))", text, "0 eur").replace(",", "")
    if extra := request.rule(r"Add (\d+) lb for the box\."):
        amount, unit = weight.split()
        weight = f"{float(amount) + int(extra) * (1 if unit == 'lb' else 0.45):g} {unit}"
    lines = [f"weight: {weight}", f"size: {sizes}", f"value: {value}"]
    if "fragile" in text and "Note what is fragile." in request.system:
        lines.append("care: fragile")
    if request.model == "m2":
        lines.sort()
    return "\n".join(lines)


def _classify(request: Request) -> str:
    kilograms = decimal(r"^Chargeable weight: ([\d.]+) kg", request.last)
    light = float(request.rule(r"Light is up to ([\d.]+) kg\.", "5"))
    heavy = float(request.rule(r"Heavy is above ([\d.]+) kg\.", "20"))
    kind = "light" if kilograms <= light else "heavy" if kilograms > heavy else "medium"
    return f"Class: {kind}"


def _state_price(request: Request) -> str:
    total = find(r"^Total: (\S+ \w+)$", request.last, "nothing")
    days = number(r"^Days: (\d+)", request.last)
    limit = int(request.rule(r"Insure from (\d+) eur on\.", "9999"))
    value = decimal(r"^Value: ([\d.]+) eur", request.last)
    insured = " Please insure it." if value >= limit else ""
    when = f" It takes {days} days." if "State the days." in request.system else ""
    care = " Mark it as fragile." if "care: fragile" in request.last else ""
    return f"The parcel costs {total}.{when}{insured}{care}"


def _parcel(runtime: Runtime) -> str:
    settings = runtime.settings
    form = say(runtime, "reader", user(settings))
    weight, unit = decimal(r"weight: ([\d.]+)", form), find(r"weight: [\d.]+ (\w+)", form)
    kilograms = round(weight * 0.4536, 1) if unit == "lb" else weight
    sizes = [float(size) for size in re.findall(r"[\d.]+", find(r"size: (.+)$", form))]
    if find(r"size: .* (\w+)$", form) == "in":
        sizes = [round(size * 2.54, 1) for size in sizes]
    volume = 1.0
    for size in sizes:
        volume *= size
    divisor = number(r"(\d+)", str(settings["code.clerk.divisor"]), 5000)
    charged = max(kilograms, round(volume / divisor, 1))
    dollars = real(fields(runtime.tool("get_course", {"pair": "usd-eur"})).get("rate"), 1.0)
    value, currency = decimal(r"value: (\d+)", form), find(r"value: \d+ (\w+)", form)
    euros = round(value * dollars, 2) if currency == "usd" else value
    answer = say(runtime, "clerk", f"Chargeable weight: {charged} kg\nLongest side: {max(sizes, default=0)} cm")
    tariff = fields(runtime.tool("get_tariff", {"class": find(r"Class: (\w+)", answer, "medium")}))
    total = real(tariff.get("base")) + charged * real(tariff.get("per_kg"))
    lines = [f"Total: {total:.2f} eur", f"Days: {real(tariff.get('days')):.0f}", f"Value: {euros} eur"]
    if settings["code.writer.care"] == "passed on" and "care:" in form:
        lines.append(find(r"^(care: \w+)$", form))
    return say(runtime, "writer", "\n".join(lines))


_PARCEL: Final = Program(
    name="parcel form",
    group="form with units",
    program=_parcel,
    final="writer",
    model=model_of({"reader": _read_parcel, "clerk": _classify, "writer": _state_price}),
    menu=(),
    settings={
        **prompts(
            reader=("You are the reader. Fill in the form.", "Note what is fragile.", "", ""),
            clerk=("You are the clerk.", "Light is up to 4 kg.", "Heavy is above 15 kg.", ""),
            writer=("You are the writer. State the price.", "Insure from 100 eur on.", "State the days.", ""),
        ),
        "user.0": "Good day,",
        "user.1": "my parcel weighs 12 lb and",
        "user.2": "measures 16 by 12 by 10 in, is fragile and",
        "user.3": "worth 95 usd.",
        "user.4": "",
        "code.clerk.divisor": 5000,
        "code.writer.care": "passed on",
        **rows("get_course", usd_eur={"rate": 0.9, "date": "2026-05-04"}),
        **rows(
            "get_tariff",
            light={"base": 6, "per_kg": 1, "days": 2},
            medium={"base": 9, "per_kg": 1.5, "days": 4},
            heavy={"base": 20, "per_kg": 2, "days": 7},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Hello,", "Dear team,", decoy=True),
        edit(
            "upstream",
            "user.1",
            "my parcel weighs 40 lb and",
            "my parcel weighs 9 kg and",
            "our parcel weighs 12 lb and",
        ),
        edit(
            "upstream",
            "user.2",
            "measures 26 by 22 by 20 in, is fragile and",
            "measures 16 by 12 by 10 in and is",
            "measures 8 by 5 by 5 in, is fragile and",
        ),
        edit("upstream", "user.3", "worth 180 usd.", "worth 120 eur.", "worth 90 usd."),
        edit("upstream", "user.4", "It is a vase.", "It is for my son.", decoy=True),
        edit("prompt", "prompt.reader.1", "", "Note what is wet."),
        edit("prompt", "prompt.reader.2", "Add 6 lb for the box.", "Add 1 lb for the box."),
        wording("reader", 3),
        edit("model", "model.reader.name", "m2", decoy=True),
        edit("prompt", "prompt.clerk.1", "Light is up to 8 kg.", "Light is up to 5 kg."),
        edit("prompt", "prompt.clerk.2", "Heavy is above 6 kg.", "Heavy is above 12 kg."),
        wording("clerk", 3),
        edit("model", "model.clerk.name", "m2", decoy=True),
        edit("prompt", "prompt.writer.1", "Insure from 80 eur on.", "Insure from 300 eur on."),
        edit("prompt", "prompt.writer.2", "", "State all days."),
        wording("writer", 3),
        edit("upstream", "code.clerk.divisor", 4000, 6000),
        edit("upstream", "code.writer.care", "left out"),
        edit("tool", "row.get_course.usd-eur.rate", 1.1, 0.8),
        edit("tool", "row.get_course.usd-eur.date", "2026-05-05", decoy=True),
        edit("tool", "row.get_tariff.medium.base", 11),
        edit("tool", "row.get_tariff.medium.per_kg", 1.2),
        edit("tool", "row.get_tariff.medium.days", 5),
        edit("tool", "row.get_tariff.heavy.base", 25, decoy=True),
        *sampling("reader", "clerk", "writer"),
    ),
)

# ---- backups: a schedule as JSON, a validator whose errors go back, a booking, a confirmation


def _schedule(request: Request) -> str:
    asked = request.messages[0].get("content") if request.messages else ""
    first = str(asked)
    day = find(r"\b(\w+day)\b", first, "Tuesday")
    hour = number(r"\bat (\d+)", first, 2)
    keep = number(r"\bkeep (\d+)", first, int(request.rule(r"Keep (\d+) copies\.", "5")))
    for error in re.findall(r"^error: (.+)$", request.spoken, re.MULTILINE):
        if busy := re.search(r"busy until (\d+)", error):
            hour = int(busy[1])
        if "quota" in error:
            keep = number(r"quota of (\d+)", error, keep)
        if "closed" in error:
            day = request.rule(r"Move closed days to (\w+)\.", "Monday")
    if request.model == "m2":
        keep += 1
    return json.dumps({"day": day, "hour": hour, "keep": keep})


def _confirm(request: Request) -> str:
    plan = json_in(request.last)
    tries = number(r"after (\d+) tries", request.last, 1)
    if "no valid schedule" in request.last:
        return f"I gave up after {tries} tries."
    most = int(request.rule(r"Apologise from (\d) tries on\.", "9"))
    sorry = "Sorry for the wait. " if tries >= most else ""
    clock = "o'clock" if "Write o'clock." in request.system else "h"
    return f"{sorry}Backup on {plan.get('day')} at {plan.get('hour')} {clock}, {plan.get('keep')} copies."


def _errors(runtime: Runtime, plan: dict[str, JSONValue]) -> list[str]:
    calendar = fields(runtime.tool("get_calendar", {"day": str(plan.get("day"))}))
    errors = []
    if calendar.get("open") == "no":
        errors.append(f"error: {plan.get('day')} is closed")
    start, end = real(calendar.get("busy_from"), 99), real(calendar.get("busy_to"), 0)
    if start <= real(plan.get("hour")) < end:
        errors.append(f"error: {plan.get('day')} is busy until {end:.0f}")
    quota = real(calendar.get("quota"), 9)
    if real(plan.get("keep")) > quota:
        errors.append(f"error: above the quota of {quota:.0f}")
    return errors


def _backup(runtime: Runtime) -> str:
    settings = runtime.settings
    talk: list[JSONValue] = [user_message(user(settings))]
    errors, tries = ["none"], 0
    answer = ""
    while errors and tries < number(r"(\d)", str(settings["code.scheduler+get_calendar.tries"])):
        tries += 1
        message = runtime.model("scheduler", [system_message(runtime, "scheduler"), *talk])
        answer = text_of(message)
        errors = _errors(runtime, json_in(answer))
        shown = errors if settings["code.scheduler.errors"] == "all" else errors[:1]
        talk = [*talk, message, user_message("\n".join(shown))]
    state = f"no valid schedule after {tries} tries" if errors else f"{answer} after {tries} tries"
    return say(runtime, "confirmer", state)


_BACKUP: Final = Program(
    name="backup schedule",
    group="validated schedule",
    program=_backup,
    final="confirmer",
    model=model_of({"scheduler": _schedule, "confirmer": _confirm}),
    menu=(),
    settings={
        **prompts(
            scheduler=(
                "You are the scheduler. Reply in JSON.",
                "Keep 7 copies.",
                "Move closed days to Wednesday.",
                "",
            ),
            confirmer=("You are the confirmer.", "Apologise from 3 tries on.", "Write o'clock.", ""),
        ),
        "user.0": "Please back up the shop",
        "user.1": "on Tuesday at 2.",
        "user.2": "",
        "code.scheduler+get_calendar.tries": 4,
        "code.scheduler.errors": "all",
        **rows(
            "get_calendar",
            Tuesday={"open": "yes", "busy_from": 1, "busy_to": 4, "quota": 7, "owner": "Ann"},
            Wednesday={"open": "yes", "busy_from": 12, "busy_to": 14, "quota": 5, "owner": "Ben"},
            Sunday={"open": "no", "busy_from": 0, "busy_to": 3, "quota": 9, "owner": "Cem"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "Please save the shop", "Kindly back up the shop", decoy=True),
        edit("upstream", "user.1", "on Wednesday at 2.", "on Sunday at 2.", "on Tuesday at 8.", "on a Tuesday at 2."),
        edit("upstream", "user.2", "and keep 3.", "Thanks."),
        edit("prompt", "prompt.scheduler.1", "Keep 9 copies.", "Keep 4 copies."),
        edit("prompt", "prompt.scheduler.2", "Move closed days to Tuesday.", decoy=True),
        wording("scheduler", 3),
        edit("model", "model.scheduler.name", "m2"),
        edit("prompt", "prompt.confirmer.1", "Apologise from 2 tries on.", "Apologise from 5 tries on."),
        edit("prompt", "prompt.confirmer.2", "", "Write 24 hours."),
        wording("confirmer", 3),
        edit("model", "model.confirmer.name", "m2", decoy=True),
        edit("upstream", "code.scheduler+get_calendar.tries", 1),
        edit("upstream", "code.scheduler.errors", "first", decoy=True),
        edit("tool", "row.get_calendar.Tuesday.busy_to", 6, 5),
        edit("tool", "row.get_calendar.Tuesday.open", "no"),
        edit("tool", "row.get_calendar.Tuesday.quota", 3, 6),
        edit("tool", "row.get_calendar.Tuesday.owner", "Eve", decoy=True),
        edit("tool", "row.get_calendar.Wednesday.quota", 8, decoy=True),
        *sampling("scheduler", "confirmer"),
    ),
)

FORMS: Final[tuple[Program, ...]] = (_PARCEL, _BACKUP)
