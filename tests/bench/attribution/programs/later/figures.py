"""Figures: offers that are read into a schema and converted, rows that code lays out as a table."""

import json
import re
from collections.abc import Sequence
from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.later.reading import day_of, decimal, find, number
from tests.bench.attribution.programs.model import Request, model_of, parse
from tests.bench.attribution.programs.shapes import Program, edit, sampling, say, wording
from traces.core.json_types import JSONObject, JSONValue

# ---- offers: JSON that breaks the schema is returned with its errors; code converts units, money and dates

_KILOGRAMS: Final = {"kg": 1.0, "lb": 0.4536, "oz": 0.02835}


def _extract(request: Request) -> str:
    mail, _, errors = request.last.partition("\nErrors: ")
    weight = re.search(r"(\d[\d.]*) ?(kg|lb|oz)", mail)
    price = re.search(r"([\d,]+\.\d\d) (USD|EUR|GBP)", mail)
    dates = re.findall(r"\d\d/\d\d/\d{4}", mail)
    latest = "Take the later of two dates." in request.system
    entry: JSONObject = {"supplier": find(r"^(?:From: )?(\w+)", mail, "unknown")}
    if weight:
        entry["weight"] = f"{weight[1]} {weight[2]}"
    if price and ("price" in errors or request.model != "m2"):
        entry["price"] = f"{price[1]} {price[2]}"
    if dates:
        entry["delivery"] = dates[-1 if latest else 0]
    if "Record the warranty." in request.system:
        entry["warranty"] = find(r"(\d+) months", mail, "0")
    return json.dumps(entry)


def _select(request: Request) -> str:
    table = re.findall(r"^(\w+) \| ([\d.]+) kg \| (\d+) EUR \| (\d{4}-\d\d-\d\d)$", request.last, re.MULTILINE)
    heaviest = float(request.rule(r"Accept at most (\d+) kg\.", "999"))
    deadline = request.rule(r"We need it by (\d{4}-\d\d-\d\d)\.", "2099-12-31")
    fits = [row for row in table if float(row[1]) <= heaviest and row[3] <= deadline]
    if not fits:
        return f"None of the {len(table)} offers fits."
    best = min(fits, key=lambda row: row[3] if "Prefer the earliest." in request.system else f"{int(row[2]):09}")
    saved = max(int(row[2]) for row in fits) - int(best[2])
    note = f" It saves {saved} EUR." if saved and "State what it saves." in request.system else ""
    return f"Order from {best[0]} for {best[2]} EUR, {best[1]} kg, due {best[3]}.{note}"


def _offer_row(runtime: Runtime, entry: JSONObject) -> str | None:
    """Return an offer as a line in kilograms, euros and an ISO date, or None if a value is missing."""
    amount, _, unit = str(entry.get("weight", "")).partition(" ")
    price, _, currency = str(entry.get("price", "")).partition(" ")
    if unit not in _KILOGRAMS or not currency or "delivery" not in entry:
        return None
    rate = 1.0
    if currency != "EUR":
        row = runtime.tool("exchange_rate", {"pair": f"{currency}-EUR"})
        rate = decimal(r"([\d.]+)", str(row.get("rate", "1"))) if isinstance(row, dict) else 1.0
    euros = round(decimal(r"([\d,.]+)", price) * rate)
    due = day_of(str(entry["delivery"])).isoformat()
    return f"{entry['supplier']} | {float(amount) * _KILOGRAMS[unit]:.1f} kg | {euros} EUR | {due}"


def _offers(runtime: Runtime) -> str:
    lines: list[str] = []
    for name in ("mail-1", "mail-2", "mail-3"):
        mail = runtime.tool("read_mail", {"id": name})
        text = str(mail.get("text", "")) if isinstance(mail, dict) else ""
        entry = _json_in(say(runtime, "extractor", text))
        missing = [field for field in ("weight", "price", "delivery") if field not in entry]
        if missing:
            entry = _json_in(say(runtime, "extractor", f"{text}\nErrors: missing {', '.join(missing)}"))
        if line := _offer_row(runtime, entry):
            lines.append(line)
    return say(runtime, "buyer", f"{user(runtime.settings)}\n" + "\n".join(sorted(lines)))


def _json_in(text: str) -> JSONObject:
    return parse(text[text.find("{") : text.rfind("}") + 1])


_OFFERS: Final = Program(
    name="offers",
    group="schema and units",
    most=5,
    program=_offers,
    final="buyer",
    model=model_of({"extractor": _extract, "buyer": _select}),
    menu=(),
    settings={
        **prompts(
            extractor=(
                "You are the extractor. Answer with JSON: supplier, weight, price, delivery.",
                "Copy units and currencies as they are.",
                "",
                "",
                "",
            ),
            buyer=(
                "You are the buyer. Choose one offer for the workshop.",
                "Accept at most 40 kg.",
                "We need it by 2026-05-15.",
                "",
                "",
                "",
            ),
        ),
        "user.0": "Which of these compressors shall we order?",
        "user.1": "",
        **rows(
            "read_mail",
            mail_1={
                "text": "Hartley here. The C-20 weighs 78 lb, costs 640.00 GBP and arrives on 04/05/2026.",
                "received": "Monday",
            },
            mail_2={
                "text": "Corbin writes: 31.5 kg, 812.50 EUR, 24 months of warranty, delivery 20/04/2026 or 12/05/2026.",
                "received": "Monday",
            },
            mail_3={
                "text": "Delmas offers the heavy model: 47 kg for 590.00 EUR, at your door on 28/04/2026.",
                "received": "Tuesday",
            },
        ),
        **rows("exchange_rate", GBP_EUR={"rate": "1.16", "bank": "ECB"}, USD_EUR={"rate": "0.91", "bank": "ECB"}),
    },
    edits=(
        edit("upstream", "user.0", "Which compressor is the best buy?", "Please choose a compressor.", decoy=True),
        edit("upstream", "user.1", "The old one broke on Friday.", "Our budget is fine.", decoy=True),
        edit("prompt", "prompt.extractor.1", "Copy units and currencies without changes.", decoy=True),
        edit("prompt", "prompt.extractor.2", "Take the later of two dates."),
        edit("prompt", "prompt.extractor.3", "Record the warranty.", decoy=True),
        wording("extractor", 4),
        edit("model", "model.extractor.name", "m2", decoy=True),
        edit("prompt", "prompt.buyer.1", "Accept at most 50 kg.", "Accept at most 35 kg.", "Accept at most 30 kg."),
        edit("prompt", "prompt.buyer.2", "We need it by 2026-05-01.", "We need it by 2026-04-15."),
        edit("prompt", "prompt.buyer.3", "Prefer the earliest."),
        edit("prompt", "prompt.buyer.4", "State what it saves."),
        wording("buyer", 5),
        edit("model", "model.buyer.name", "m2", decoy=True),
        edit(
            "tool",
            "row.read_mail.mail-1.text",
            "Hartley here. The C-20 weighs 92 lb, costs 640.00 GBP and arrives on 04/05/2026.",
            "Hartley here. The C-20 weighs 78 lb, costs 740.00 GBP and arrives on 04/05/2026.",
            "Hartley here. The C-20 weighs 35.4 kg, costs 640.00 GBP and arrives on 04/05/2026.",
        ),
        edit(
            "tool",
            "row.read_mail.mail-3.text",
            "Delmas offers the light model: 37 kg for 590.00 EUR, at your door on 28/04/2026.",
            "Delmas offers the heavy model: 46 kg for 570.00 EUR, at your door on 28/04/2026.",
        ),
        edit("tool", "row.read_mail.mail-2.received", "Wednesday", decoy=True),
        edit("tool", "row.exchange_rate.GBP-EUR.rate", "1.19", "1.28"),
        edit("tool", "row.exchange_rate.GBP-EUR.bank", "BoE", decoy=True),
        edit("tool", "row.exchange_rate.USD-EUR.rate", "0.95", decoy=True),
        *sampling("extractor", "buyer"),
    ),
)

# ---- revenue: code sorts and cuts the rows of a query, adds shares and lays them out as a table in thousands


def _write_query(request: Request) -> str:
    year = find(r"\b(20\d\d)\b", request.last, "2025")
    question = request.last.partition("\nTables:")[0].lower()
    group = "country" if "countr" in question else request.rule(r"Group by (\w+) by default\.", "region")
    measure = request.rule(r"Revenue is the column (\w+)\.", "net")
    top = number(r"top (\d+)", question, 3)
    refunds = "" if "Ignore refunds." in request.system or request.model == "m2" else " less refunds"
    return (
        f"The query for this:\n```sql\nselect {group}, sum({measure}){refunds} from orders "
        f"where year = {year} group by {group}\n```\nShow {top} rows."
    )


def _comment(request: Request) -> str:
    lines = re.findall(r"^\| (\w[\w ]*?) +\| +([\d,]+) \| +(\d+) % \|$", request.last, re.MULTILINE)
    if not lines:
        return "There is no revenue to talk about."
    name, amount, share = lines[0]
    limit = int(request.rule(r"Warn when one group has over (\d+) percent\.", "100"))
    warning = f" We depend on {name}." if int(share) > limit else ""
    last = f", {lines[-1][0]} brings the least" if "Name the weakest." in request.system and len(lines) > 1 else ""
    unit = request.rule(r"Write (\w+) for thousands\.", "k")
    return f"{name} leads with {amount}{unit} ({share} percent){last}.{warning}"


def _table(result: Sequence[JSONValue], top: int) -> str:
    """Lay out the largest rows, in thousands, with their share of all rows."""
    pairs = [(str(row[0]), number(r"(-?\d+)", str(row[1]))) for row in result if isinstance(row, list) and len(row) > 1]
    total = sum(amount for _, amount in pairs) or 1
    ranked = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:top]
    width = max((len(name) for name, _ in ranked), default=1)
    return "\n".join(
        f"| {name.title():{width}} | {round(amount / 1000):>9,} | {round(100 * amount / total):>3} % |"
        for name, amount in ranked
    )


def _revenue(runtime: Runtime) -> str:
    question = user(runtime.settings)
    answer = say(runtime, "analyst", f"{question}\nTables: orders(year, region, country, net, gross, refunds)")
    query = " ".join(find(r"```sql\n(.+?)\n```", answer, "select").split())
    result = runtime.tool("run_sql", {"query": query})
    listed = result.get("rows") if isinstance(result, dict) else None
    table = _table(listed if isinstance(listed, list) else [], number(r"Show (\d+) rows", answer, 3))
    title = find(r"where (year = \d+)", query).upper() or "NO YEAR"
    return say(runtime, "commentator", f"{question}\n{title}\n{table}")


_NET: Final = "select region, sum(net) less refunds from orders where year = {} group by region"
_REVENUE_ROWS: Final[dict[str, list[JSONValue]]] = {
    _NET.format(2025): [["north", 1_204_300], ["south", 988_120], ["islands", 96_700], ["west", 1_187_450]],
    _NET.format(2024): [["north", 1_101_900], ["south", 1_240_080], ["islands", 88_000], ["west", 1_002_600]],
    _NET.format(2025).replace(" less refunds", ""): [["north", 1_304_000], ["south", 1_040_500], ["west", 1_360_900]],
    _NET.format(2025).replace("net", "gross"): [["north", 1_433_100], ["south", 1_175_800], ["west", 1_413_000]],
    _NET.format(2025).replace("region", "country"): [["spain", 1_930_000], ["portugal", 1_110_200], ["italy", 436_370]],
}
_BASE_QUERY: Final = f"row.run_sql.{_NET.format(2025)}"
_REVENUE: Final = Program(
    name="revenue",
    group="table of rows",
    most=4,
    program=_revenue,
    final="commentator",
    model=model_of({"data analyst": _write_query, "commentator": _comment}),
    menu=(),
    settings={
        **prompts(
            analyst=(
                "You are the data analyst. Answer with one SQL query and the number of rows to show.",
                "Revenue is the column net.",
                "Group by region by default.",
                "",
                "",
            ),
            commentator=(
                "You are the commentator. Comment on the table for the management.",
                "Warn when one group has over 40 percent.",
                "",
                "",
                "",
            ),
        ),
        "user.0": "Which are the top 3 regions by revenue in 2025?",
        "user.1": "",
        **{f"row.run_sql.{query}.rows": listed for query, listed in _REVENUE_ROWS.items()},
        **{f"row.run_sql.{query}.seconds": 2 for query in _REVENUE_ROWS},
    },
    edits=(
        edit(
            "upstream",
            "user.0",
            "Which are the top 3 regions by revenue in 2024?",
            "Which are the top 2 countries by revenue in 2025?",
            "By revenue in 2025, which are the top 3 regions?",
        ),
        edit("upstream", "user.1", "Compare the countries too.", "It is for the annual report."),
        edit("prompt", "prompt.analyst.1", "Revenue is the column gross."),
        edit("prompt", "prompt.analyst.2", "Group by country by default."),
        edit("prompt", "prompt.analyst.3", "Ignore refunds."),
        wording("analyst", 4),
        edit("model", "model.analyst.name", "m2"),
        edit("model", "model.analyst.max_tokens", 90, decoy=True),
        edit("prompt", "prompt.commentator.1", "Warn when one group has over 30 percent.", "Mind the largest group."),
        edit("prompt", "prompt.commentator.2", "Name the weakest."),
        edit("prompt", "prompt.commentator.3", "Write T for thousands."),
        wording("commentator", 4),
        edit("model", "model.commentator.name", "m2", decoy=True),
        edit(
            "tool",
            f"{_BASE_QUERY}.rows",
            [["north", 1_204_300], ["south", 988_120], ["islands", 96_700], ["west", 1_287_450]],
            [["north", 1_204_480], ["south", 988_120], ["islands", 96_700], ["west", 1_187_450]],
            [["west", 1_187_450], ["north", 1_204_300], ["islands", 96_700], ["south", 988_120]],
            [["north", 1_209_300], ["south", 988_120], ["islands", 196_700], ["west", 1_187_450]],
        ),
        edit("tool", f"{_BASE_QUERY}.seconds", 3, 9, decoy=True),
        edit("tool", f"row.run_sql.{_NET.format(2024)}.seconds", 4, decoy=True),
        *sampling("analyst", "commentator"),
    ),
)

FIGURES: Final = (_OFFERS, _REVENUE)
REWORDABLE: Final = (_REVENUE,)
