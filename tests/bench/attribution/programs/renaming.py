"""A desk whose tools are renamed, with the same or different data."""

from typing import Final

from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, rows, user
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.shapes import (
    Edit,
    Program,
    converse,
    edit,
    sampling,
    text_of,
    user_message,
    wording,
)
from traces.core.json_types import JSONValue

_PURPOSES: Final = {"stock": "says how many are in stock", "price": "says what one costs"}


def _quote(request: Request) -> str | ToolCall:
    """Query the stock, then the price, under any names of the tools."""
    for purpose in ("stock", "costs"):
        name = request.tool(purpose)
        if name and name not in request.called:
            return name, {"article": "lamp"}
    values = {name: value for result in request.results for name, value in result.items()}
    if "in_stock" not in values or "price" not in values:
        return "I cannot look that up today."
    price = values["price"] if isinstance(values["price"], int) else 0
    discount = int(request.rule(r"Take (\d+) francs off\.", "0"))
    if values["in_stock"] == 0 and request.model == "m1":
        return "The lamp is sold out."
    return f"The lamp costs {price - discount} francs."


def _run(runtime: Runtime) -> str:
    tools: list[JSONValue] = [
        {"name": str(runtime.settings[f"tool.{role}"]), "description": text} for role, text in _PURPOSES.items()
    ]
    return text_of(converse(runtime, "seller", [user_message(user(runtime.settings))], tools)[-1])


MODEL: Final = model_of({"seller": _quote})


def _program(name: str, other_price: int, other_stock: int, *more: Edit) -> Program:
    """Build a program whose renamed tools return these data."""
    return Program(
        name=f"renamed tools, {name}",
        group="renamed tools",
        program=_run,
        final="seller",
        model=MODEL,
        menu=(),
        settings={
            **prompts(seller=("You are the seller.", "Take 5 francs off.", "")),
            "user.0": "What does the lamp cost?",
            "user.1": "",
            "tool.stock": "count_stock",
            "tool.price": "get_price",
            **rows("count_stock", lamp={"in_stock": 3, "shelf": "B"}),
            **rows("get_price", lamp={"price": 40}),
            **rows("stock_level", lamp={"in_stock": other_stock, "shelf": "B"}),
            **rows("price_of", lamp={"price": other_price}),
        },
        edits=(
            edit("prompt", "prompt.seller.1", "Take 8 francs off.", ""),
            wording("seller", 2),
            *sampling("seller"),
            edit("model", "model.seller.name", "m2", decoy=True),
            edit("upstream", "user.1", "I want only one.", "Thank you.", decoy=True),
            *more,
        ),
    )


_PRICE: Final = edit("tool", "tool.price", "price_of")
_STOCK: Final = edit("tool", "tool.stock", "stock_level")
_DEARER: Final = Edit(category="tool", variants=((("row.get_price.lamp.price", 46), ("row.price_of.lamp.price", 46)),))
_SOLD_OUT: Final = Edit(
    category="tool", variants=((("row.count_stock.lamp.in_stock", 0), ("row.stock_level.lamp.in_stock", 0)),)
)

RENAMED_TOOLS: Final = (
    _program("same data", 40, 3, _PRICE, _STOCK),
    _program("other data", 46, 3, _PRICE, _STOCK),
    _program("the world changed too", 40, 3, _PRICE, _STOCK, _DEARER, _SOLD_OUT),
)
