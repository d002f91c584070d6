"""A clinic for plants whose code joins remedies, and an order of seeds whose code fills a table."""

from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.field.parsing import fields, real
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording

# ---- plant clinic: a nose names symptoms, code joins what helps, a gardener advises

_SIGNS: Final = {"yellow": "chlorosis", "spots": "rust", "web": "mites", "soft": "rot"}


def _nose(request: Request) -> str:
    signs = [name for word, name in _SIGNS.items() if word in request.last]
    most = int(request.rule(r"Name at most (\d) signs\.", "3")) + (request.model == "m2")
    if request.rule(r"Ignore (\w+)\.") in signs:
        signs.remove(request.rule(r"Ignore (\w+)\."))
    return "; ".join(signs[:most]) or "healthy"


def _gardener(request: Request) -> str:
    days, cost = number(r"for (\d+) days", request.last), number(r"costs (\d+)", request.last)
    limit = int(request.rule(r"Refuse above (\d+) crowns\.", "99"))
    if cost > limit:
        return f"Throw it away: {cost} crowns are too much."
    first = find(r"^Use (\w+)", request.last, "nothing")
    return f"Treat it with {first} for {days} days{request.rule(r'End with (.)', '.')}"


def _clinic(runtime: Runtime) -> str:
    settings = runtime.settings
    signs = [sign for sign in say(runtime, "nose", user(settings)).split("; ") if sign != "healthy"]
    remedies = [
        fields(runtime.tool("get_remedy", {"sign": sign}))
        for sign in signs[: int(real(settings["code.get_remedy+gardener.most"], 3))]
    ]
    remedies = [remedy for remedy in remedies if "error" not in remedy]
    means = " and ".join(str(remedy.get("means")) for remedy in remedies) or "water"
    longest = max((int(real(remedy.get("days"))) for remedy in remedies), default=0)
    cost = sum(real(remedy.get("cost")) for remedy in remedies) * real(settings["code.gardener.markup"], 1)
    return say(runtime, "gardener", f"Use {means} for {longest} days, which costs {cost:.0f}.")


_CLINIC: Final = Program(
    name="plant clinic",
    group="plant clinic",
    program=_clinic,
    final="gardener",
    model=model_of({"nose": _nose, "gardener": _gardener}),
    menu=(),
    settings={
        **prompts(
            nose=("You are the nose. Name the signs.", "Name at most 2 signs.", "", ""),
            gardener=("You are the gardener. Advise.", "Refuse above 60 crowns.", "", ""),
        ),
        "user.0": "My fern has yellow leaves with spots and a web.",
        "user.1": "",
        "code.get_remedy+gardener.most": 3,
        "code.gardener.markup": 1,
        **rows(
            "get_remedy",
            chlorosis={"means": "iron", "days": 10, "cost": 20, "shelf": "A1"},
            rust={"means": "copper", "days": 14, "cost": 30, "shelf": "B2"},
            mites={"means": "oil", "days": 21, "cost": 15, "shelf": "C3"},
            rot={"means": "sand", "days": 5, "cost": 8, "shelf": "D4"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "My fern has spots and a web.", "My palm is soft."),
        edit("upstream", "user.1", "It was a gift.", decoy=True),
        edit("prompt", "prompt.nose.1", "Name at most 1 signs.", "Name at most 3 signs."),
        edit("prompt", "prompt.nose.2", "Ignore chlorosis."),
        wording("nose", 3),
        edit("model", "model.nose.name", "m2"),
        edit("prompt", "prompt.gardener.1", "Refuse above 40 crowns."),
        edit("prompt", "prompt.gardener.2", "End with !"),
        wording("gardener", 3),
        edit("upstream", "code.get_remedy+gardener.most", 1),
        edit("upstream", "code.gardener.markup", 2),
        edit("tool", "row.get_remedy.rust.days", 12, 30),
        edit("tool", "row.get_remedy.chlorosis.cost", 45),
        edit("tool", "row.get_remedy.rust.shelf", "E5", decoy=True),
        edit("tool", "row.get_remedy.chlorosis.shelf", "F6", decoy=True),
        *sampling("nose", "gardener"),
    ),
)

# ---- seed order: a planner writes lines, code fills a table with prices, a buyer decides


def _planner(request: Request) -> str:
    beds = number(r"(\d+) beds", request.last, 1)
    each = int(request.rule(r"Plan (\d+) bags per bed\.", "2"))
    kinds = ["Beans", "Carrots", "Chard"][: int(request.rule(r"Choose (\d) kinds\.", "2"))]
    extra = 1 if request.model == "m2" else 0
    return "\n".join(f"{kind} x{beds * each + extra}" for kind in kinds)


def _buyer(request: Request) -> str:
    total = number(r"^\| total \|[^|]*\| (\d+)", request.last)
    first = find(r"^\| (\w+) \|", request.last, "nothing")
    if total > int(request.rule(r"Ask above (\d+)\.", "999")):
        return f"Ask the board about {total}."
    name = request.rule(r"Sign with (\w+)")
    return f"Order, {first} first, for {total} in all. {name}".strip()


def _order(runtime: Runtime) -> str:
    settings = runtime.settings
    table = ["| seed | bags | sum |"]
    total = 0.0
    for line in say(runtime, "planner", user(settings)).splitlines():
        kind, count = find(r"^(\w+)", line), number(r"x(\d+)", line)
        price = fields(runtime.tool("get_price", {"seed": kind.lower()}))
        own = count * real(price.get("each"))
        if settings["code.buyer.rebate"] and count >= real(price.get("bulk"), 99):
            own *= 0.9
        total += own
        table.append(f"| {kind} | {count} | {own:.0f} |")
    if settings["code.buyer.order"] == "reverse":
        table[1:] = table[:0:-1]
    return say(runtime, "buyer", "\n".join([*table[1:], f"| total | - | {total:.0f} |"]))


_ORDER: Final = Program(
    name="seed order",
    group="seed order",
    program=_order,
    final="buyer",
    model=model_of({"planner": _planner, "buyer": _buyer}),
    menu=(),
    settings={
        **prompts(
            planner=("You are the planner. Plan the seeds.", "Plan 2 bags per bed.", "Choose 2 kinds.", ""),
            buyer=("You are the buyer. Decide.", "Ask above 90.", "", ""),
        ),
        "user.0": "We have 4 beds.",
        "user.1": "",
        "code.buyer.rebate": True,
        "code.buyer.order": "plain",
        **rows(
            "get_price",
            beans={"each": 5, "bulk": 8, "maker": "Sativa"},
            carrots={"each": 3, "bulk": 10, "maker": "Bingen"},
            chard={"each": 4, "bulk": 12, "maker": "Sativa"},
        ),
    },
    edits=(
        edit("upstream", "user.0", "We have 3 beds.", "We have 6 beds."),
        edit("upstream", "user.1", "The soil is heavy.", decoy=True),
        edit("prompt", "prompt.planner.1", "Plan 3 bags per bed.", "Plan 1 bags per bed."),
        edit("prompt", "prompt.planner.2", "Choose 3 kinds.", "Choose 1 kinds."),
        wording("planner", 3),
        edit("model", "model.planner.name", "m2"),
        edit("prompt", "prompt.buyer.1", "Ask above 50."),
        edit("prompt", "prompt.buyer.2", "Sign with Ada"),
        wording("buyer", 3),
        edit("upstream", "code.buyer.rebate", False),
        edit("upstream", "code.buyer.order", "reverse"),
        edit("tool", "row.get_price.beans.each", 6, 9),
        edit("tool", "row.get_price.carrots.bulk", 6),
        edit("tool", "row.get_price.beans.maker", "Reinsaat", decoy=True),
        edit("tool", "row.get_price.carrots.maker", "Culinaris", decoy=True),
        *sampling("planner", "buyer"),
    ),
)

BEDS: Final[tuple[Program, ...]] = (_CLINIC, _ORDER)
