"""Choices: products found page by page with a filter of the tool, and votes on options shown in rotated order."""

import json
import re
from collections import Counter
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.later.reading import find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
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

# ---- a shop: the model turns pages by a cursor, code passes on the cheapest products of a page without their details


def _shop(request: Request) -> str | ToolCall:
    wish = find(r"\b(kettle|toaster|blender)s?\b", request.spoken.lower(), "kettle")
    limit = number(r"(?:under|below|at most) (\d+)", request.spoken, 999)
    pages = [result for result in request.results if "products" in result or "error" in result]
    offers = [offer for page in pages for offer in re.findall(r"([\w -]+?) at (\d+)", str(page.get("products", "")))]
    fits = [(name.strip(), int(price)) for name, price in offers if int(price) <= limit]
    enough = int(request.rule(r"Compare at least (\d+) products\.", "1"))
    most = int(request.rule(r"Read at most (\d+) pages\.", "9"))
    cursor = str(pages[-1].get("next") or "") if pages else _first_cursor(request, wish)
    if cursor and len(pages) < most and len(fits) < enough:
        return "search_products", {"cursor": cursor}
    if not fits:
        return f"I found no {wish} for you."
    dearest = "Recommend the best one you can afford." in request.system or request.model == "m2"
    name, price = (max if dearest else min)(fits, key=lambda fit: (fit[1], fit[0]))
    return f"I recommend the {name} for {price} euros, the pick of {len(fits)}."


def _first_cursor(request: Request, wish: str) -> str:
    """Return the cursor of the first page, with the filter that the tool offers."""
    sorting = next((str(tool.get("sorting", "")) for tool in request.tools), "")
    return f"{wish}-{sorting}-1" if sorting else f"{wish}-1"


def _shopping(runtime: Runtime) -> str:
    tool: JSONObject = {"name": "search_products", "description": "lists products from a cursor on"}
    tool["sorting"] = runtime.settings["tool.sorting"]
    talk: list[JSONValue] = [user_message(user(runtime.settings))]
    for _ in range(6):
        message = runtime.model("assistant", [system_message(runtime, "assistant"), *talk], [tool])
        talk.append(message)
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            break
        for call in calls:
            assert isinstance(call, dict)
            assert isinstance(call["arguments"], dict)
            page = runtime.tool(str(call["name"]), call["arguments"], str(call["id"]))
            talk.append({"role": "tool", "content": _trimmed(page), "tool_call_id": call["id"]})
    pick = find(r"the ([\w -]+?) for \d+ euros", text_of(talk[-1]))
    stock = runtime.tool("check_stock", {"product": pick.lower().replace(" ", "-") or "none"})
    count = number(r"(\d+)", str(stock.get("count", 0))) if isinstance(stock, dict) else 0
    return say(runtime, "clerk", f"{text_of(talk[-1])}\nIn stock: {'plenty' if count > 20 else count}")


def _trimmed(page: JSONValue) -> str:
    """Return the three cheapest products of a page that are for sale, and the cursor of the next page."""
    if not isinstance(page, dict) or "products" not in page:
        return json.dumps({"error": "no such page"})
    products = re.findall(r"([\w -]+?) \((\w+)\): (\d+)", str(page["products"]))
    cheapest = sorted((int(price), name.strip()) for name, state, price in products if state != "archived")[:3]
    listing = ", ".join(f"{name} at {price}" for price, name in cheapest)
    return json.dumps({"products": listing, "next": page.get("next")})


def _confirm_pick(request: Request) -> str:
    name, price = find(r"the ([\w -]+?) for \d+ euros", request.last), number(r"for (\d+) euros", request.last)
    if not name:
        return "Sorry, there is nothing that fits."
    stock = find(r"In stock: (\w+)", request.last, "0")
    few = int(request.rule(r"Call fewer than (\d+) pieces rare\.", "0"))
    hurry = " Only a few are left." if stock.isdecimal() and int(stock) < few else ""
    postage = int(request.rule(r"Add (\d+) euros postage below 50 euros\.", "0")) if price < 50 else 0
    return f"{name.upper()}: {price + postage} euros with postage.{hurry}"


_SHOP: Final = Program(
    name="shop",
    group="paged tool",
    most=4,
    program=_shopping,
    final="clerk",
    model=model_of({"shopping assistant": _shop, "clerk": _confirm_pick}),
    menu=(),
    settings={
        **prompts(
            assistant=(
                "You are the shopping assistant. Search before you recommend.",
                "Compare at least 4 products.",
                "Read at most 3 pages.",
                "",
                "",
            ),
            clerk=(
                "You are the clerk. Confirm the recommendation to the customer.",
                "Add 6 euros postage below 50 euros.",
                "Call fewer than 5 pieces rare.",
                "",
            ),
        ),
        "user.0": "I am looking for a kettle under 60 euros.",
        "user.1": "",
        "tool.sorting": "",
        **rows(
            "search_products",
            kettle_1={
                "products": "Rowan (new): 72, Brook (new): 44, Alder (archived): 19, Pine (new): 58, Fern (used): 49",
                "next": "kettle-2",
                "total": 9,
            },
            kettle_2={"products": "Moss (new): 39, Heath (new): 55, Birch (new): 81", "next": "kettle-3", "total": 9},
            kettle_3={"products": "Thorn (new): 33", "next": None, "total": 9},
            kettle_price_1={
                "products": "Thorn (new): 33, Moss (new): 39, Brook (new): 44, Fern (used): 49",
                "next": "kettle-price-2",
            },
            kettle_price_2={"products": "Heath (new): 55, Pine (new): 58", "next": None},
            kettle_name_1={
                "products": "Alder (archived): 19, Birch (new): 81, Brook (new): 44",
                "next": "kettle-name-2",
            },
            kettle_name_2={"products": "Fern (used): 49, Heath (new): 55, Moss (new): 39", "next": None},
            toaster_1={"products": "Ember (new): 36, Glow (new): 62", "next": None, "total": 2},
        ),
        **rows(
            "check_stock",
            moss={"count": 14, "aisle": 3},
            thorn={"count": 3, "aisle": 3},
            brook={"count": 55, "aisle": 4},
            ember={"count": 8, "aisle": 1},
            heath={"count": 2, "aisle": 4},
            pine={"count": 30, "aisle": 2},
        ),
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "I am looking for a toaster under 60 euros.",
            "I am looking for a kettle under 42 euros.",
            "Do you have a kettle under 60 euros for me?",
        ),
        edit("upstream", "user.1", "It is a present for my mother.", "I pay by card.", decoy=True),
        edit("tool", "tool.sorting", "price", "name"),
        edit("prompt", "prompt.assistant.1", "Compare at least 3 products.", "Compare at least 6 products."),
        edit("prompt", "prompt.assistant.2", "Read at most 1 pages."),
        edit("prompt", "prompt.assistant.3", "Recommend the best one you can afford."),
        wording("assistant", 4),
        edit("model", "model.assistant.name", "m2"),
        edit("prompt", "prompt.clerk.1", "Add 9 euros postage below 50 euros.", ""),
        edit("prompt", "prompt.clerk.2", "Call fewer than 20 pieces rare."),
        wording("clerk", 3),
        edit("model", "model.clerk.name", "m2", decoy=True),
        edit(
            "tool",
            "row.search_products.kettle-1.products",
            "Rowan (new): 72, Brook (new): 34, Alder (archived): 19, Pine (new): 58, Fern (used): 49",
            "Rowan (new): 72, Brook (new): 44, Alder (new): 19, Pine (new): 58, Fern (used): 49",
            "Rowan (new): 70, Brook (new): 44, Alder (archived): 15, Pine (new): 58, Fern (used): 49",
        ),
        edit("tool", "row.search_products.kettle-1.total", 12, decoy=True),
        edit("tool", "row.search_products.kettle-2.next", None, decoy=True),
        edit("tool", "row.check_stock.moss.count", 4, 2, 31),
        edit("tool", "row.check_stock.moss.aisle", 7, decoy=True),
        edit("tool", "row.check_stock.thorn.count", 8, decoy=True),
        *sampling("assistant", "clerk"),
    ),
)

# ---- a jury: each vote sees the options in another order; a hot model tends to the first one it is shown


def _vote(request: Request) -> str:
    options = re.findall(r"^\((\w)\) ([A-Z]\w+): (.+)$", request.last, re.MULTILINE)
    if not options:
        return "Vote: none"
    weights = [(word, int(points)) for word, points in re.findall(r"Value (\w+) with (\d+) points?\.", request.system)]
    scores = {letter: sum(points for word, points in weights if word in text) for letter, _, text in options}
    if request.temperature >= 0.7:
        scores[options[0][0]] += 2
    if request.model == "m2":
        longest = max(options, key=lambda option: (len(option[2]), option[0]))
        scores[longest[0]] += 1
    best = max(scores, key=lambda letter: (scores[letter], -ord(letter)))
    praise = next(text for letter, _, text in options if letter == best)
    reason = next((word for word, _ in weights if word in praise), "feel")
    return f"Vote: ({best}) for its {reason}"


def _announce_winner(request: Request) -> str:
    winner, votes = find(r"Winner: (\w+)", request.last, "nobody"), number(r"with (\d) of", request.last)
    second = find(r"second: (\w+)", request.last)
    clear = votes >= int(request.rule(r"Call (\d) votes clear\.", "5"))
    runner = f" {second} comes second." if second and "Name the second." in request.system else ""
    return f"{winner} wins {'clearly' if clear else 'narrowly'}, with {votes} of 5 votes.{runner}"


def _jury(runtime: Runtime) -> str:
    entries = [str(runtime.settings[f"turn.{at}"]) for at in range(3)]
    votes: Counter[str] = Counter()
    for sample in range(5):
        order = entries[sample % 3 :] + entries[: sample % 3]
        if sample >= 3:
            order.reverse()
        ballot = "\n".join(f"({letter}) {entry}" for letter, entry in zip("ABC", order, strict=True))
        letter = find(r"Vote: \((\w)\)", say(runtime, "juror", f"{user(runtime.settings)}\n{ballot}"))
        if letter:
            votes[order["ABC".index(letter)].split(":")[0]] += 1
    ranked = sorted(votes, key=lambda name: (-votes[name], name))
    second = f", second: {ranked[1]}" if len(ranked) > 1 else ""
    top = f"Winner: {ranked[0]} with {votes[ranked[0]]} of 5" if ranked else "Winner: nobody"
    return say(runtime, "speaker", f"{top}{second}")


_JURY: Final = Program(
    name="jury",
    group="rotated votes",
    most=3,
    program=_jury,
    final="speaker",
    model=model_of({"juror": _vote, "speaker of the jury": _announce_winner}),
    menu=(),
    settings={
        **prompts(
            juror=(
                "You are the juror. Vote for one of the designs.",
                "Value daylight with 3 points.",
                "Value timber with 2 points.",
                "Value trees with 2 points.",
                "Value water with 1 point.",
                "",
                "",
            ),
            speaker=(
                "You are the speaker of the jury. Announce the result.",
                "Call 4 votes clear.",
                "Name the second.",
                "",
            ),
        ),
        "user.0": "Which design for the library should be built?",
        "user.1": "",
        "turn.0": "Atrium: a hall full of daylight above concrete shelves",
        "turn.1": "Grove: timber columns between old trees, with a quiet court",
        "turn.2": "Harbour: a glass front on the water with daylight from the north",
    },
    edits=(
        edit("upstream", "user.0", "Which design shall we build for the library?", decoy=True),
        edit("upstream", "user.1", "Vote for what will last.", "The site is by the river.", decoy=True),
        edit(
            "upstream",
            "turn.0",
            "Atrium: a hall full of daylight above timber shelves",
            "Atrium: a concrete hall",
        ),
        edit("upstream", "turn.1", "Grove: timber columns between new lawns, with a quiet court"),
        edit("upstream", "turn.2", "Harbour: a glass front on the water with timber and daylight from the north"),
        edit("prompt", "prompt.juror.1", "Value daylight with 5 points.", "Value daylight with 4 points."),
        edit("prompt", "prompt.juror.2", "Value concrete with 2 points.", "Value timber with 1 point."),
        edit("prompt", "prompt.juror.4", "Value water with 2 points.", ""),
        edit("prompt", "prompt.juror.5", "Value quiet with 1 point.", "Value shelves with 1 point."),
        wording("juror", 6),
        edit("model", "model.juror.name", "m2"),
        edit("model", "model.juror.temperature", 0.9, 0.3),
        edit("model", "model.juror.max_tokens", 50, decoy=True),
        edit("prompt", "prompt.speaker.1", "Call 3 votes clear.", "Call 5 votes clear."),
        edit("prompt", "prompt.speaker.2", ""),
        wording("speaker", 3),
        *sampling("speaker"),
        edit("model", "model.speaker.name", "m2", decoy=True),
    ),
)

CHOICES: Final = (_SHOP, _JURY)
REWORDABLE: Final = (_JURY,)
