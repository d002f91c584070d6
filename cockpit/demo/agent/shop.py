"""The shop behind the order desk: a small database and its tools."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

DESK_LIMIT_EUR: Final = 200.0
_SCHEMA: Final = """
CREATE TABLE orders (order_id TEXT PRIMARY KEY, customer TEXT, email TEXT, status TEXT, total INTEGER,
                     ordered_on TEXT, delivered_on TEXT);
CREATE TABLE items (order_id TEXT REFERENCES orders, name TEXT, price INTEGER);
CREATE TABLE parcels (order_id TEXT PRIMARY KEY, carrier TEXT, state TEXT, expected_on TEXT);
CREATE TABLE refunds (refund_id TEXT PRIMARY KEY, order_id TEXT, amount REAL, reason TEXT);
CREATE TABLE tickets (ticket_id TEXT PRIMARY KEY, order_id TEXT, subject TEXT);
CREATE TABLE mails (recipient TEXT, subject TEXT, body TEXT);
"""
# Prices are in cents, as the shop's database has always had them.
_ORDERS: Final = [
    ("A-1042", "Mira Lund", "mira@example.com", "delivered", 4200, "2026-11-06", "2026-11-12"),
    ("A-1043", "Jonas Weber", "jonas@example.com", "shipped", 4380, "2026-11-17", None),
    ("A-1044", "Ada Obi", "ada@example.com", "shipped", 1290, "2026-11-18", None),
    ("B-2001", "Lena Fischer", "lena@example.com", "delivered", 25900, "2026-10-28", "2026-11-03"),
    ("B-2002", "Tom Haas", "tom@example.com", "processing", 8900, "2026-11-19", None),
    ("C-3100", "Eva Blom", "eva@example.com", "delivered", 5600, "2026-07-28", "2026-08-01"),
]
_ITEMS: Final = [
    ("A-1042", "desk lamp", 4200),
    ("A-1043", "kettle", 3490),
    ("A-1043", "mug", 890),
    ("A-1044", "door mat", 1290),
    ("B-2001", "bookshelf", 25900),
    ("B-2002", "headphones", 8900),
    ("C-3100", "floor lamp", 5600),
]
_PARCELS: Final = [("A-1043", "PostNord", "in the sorting centre", "2026-11-23")]


class CarrierDown(Exception):
    """The carrier's service did not answer."""


def new_shop() -> sqlite3.Connection:
    """Create a shop database in memory."""
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    database.executescript(_SCHEMA)
    database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", _ORDERS)
    database.executemany("INSERT INTO items VALUES (?, ?, ?)", _ITEMS)
    database.executemany("INSERT INTO parcels VALUES (?, ?, ?, ?)", _PARCELS)
    return database


def get_order(shop: sqlite3.Connection, order_id: str) -> dict[str, Any]:
    row = shop.execute("SELECT * FROM orders WHERE order_id = ?", (order_id,)).fetchone()
    if row is None:
        return {"error": f"there is no order {order_id}"}
    items = shop.execute("SELECT name, price FROM items WHERE order_id = ?", (order_id,)).fetchall()
    order = {key: row[key] for key in row.keys() if row[key] is not None}  # noqa: SIM118 - a Row iterates its values
    return {**order, "items": [dict(item) for item in items]}


def get_shipment(shop: sqlite3.Connection, order_id: str) -> dict[str, Any]:
    row = shop.execute("SELECT * FROM parcels WHERE order_id = ?", (order_id,)).fetchone()
    if row is None:
        raise CarrierDown("the carrier's service timed out after 5 s")
    return dict(row)


def issue_refund(shop: sqlite3.Connection, order_id: str, amount: float, reason: str = "") -> dict[str, Any]:
    if amount > DESK_LIMIT_EUR:
        limit = f"{amount:.2f} EUR is over the desk's limit of {DESK_LIMIT_EUR:.2f} EUR per order"
        return {"status": "refused", "reason": limit}
    refund_id = f"R-{order_id}"
    shop.execute("INSERT INTO refunds VALUES (?, ?, ?, ?)", (refund_id, order_id, amount, reason))
    return {"status": "refunded", "refund_id": refund_id, "amount": amount, "currency": "EUR"}


def cancel_order(shop: sqlite3.Connection, order_id: str) -> dict[str, Any]:
    cancelled = shop.execute(
        "UPDATE orders SET status = 'cancelled' WHERE order_id = ? AND status IN ('processing', 'paid')", (order_id,)
    )
    if cancelled.rowcount == 0:
        return {"status": "refused", "reason": "only orders that are not shipped yet can be cancelled"}
    return {"status": "cancelled", "order_id": order_id}


def create_ticket(shop: sqlite3.Connection, order_id: str, subject: str) -> dict[str, Any]:
    ticket_id = f"T-{shop.execute('SELECT count(*) FROM tickets').fetchone()[0] + 501}"
    shop.execute("INSERT INTO tickets VALUES (?, ?, ?)", (ticket_id, order_id, subject))
    return {"ticket_id": ticket_id, "queue": "supervisors"}


def send_email(shop: sqlite3.Connection, to: str, subject: str, body: str) -> dict[str, Any]:
    shop.execute("INSERT INTO mails VALUES (?, ?, ?)", (to, subject, body))
    return {"status": "sent", "to": to}


@dataclass(frozen=True, kw_only=True)
class ShopTool:
    """A tool: its implementation and the schema for the model."""

    run: Callable[..., dict[str, Any]]
    description: str
    parameters: dict[str, dict[str, str]]
    optional: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def schema(self) -> dict[str, Any]:
        required_names = [name for name in self.parameters if name not in self.optional]
        properties = {"type": "object", "properties": self.parameters, "required": required_names}
        function = {"name": self.name, "description": self.description, "parameters": properties}
        return {"type": "function", "function": function}


_ORDER: Final = {"order_id": {"type": "string", "description": "as A-1042"}}
_TEXT: Final = {"type": "string"}
TOOLS: Final = {
    tool.name: tool
    for tool in (
        ShopTool(
            run=get_order, description="Look up an order. The total and all prices are in cents.", parameters=_ORDER
        ),
        ShopTool(run=get_shipment, description="Ask the carrier where an order's parcel is.", parameters=_ORDER),
        ShopTool(
            run=issue_refund,
            description="Pay money back to the customer.",
            parameters={**_ORDER, "amount": {"type": "number", "description": "in euros"}, "reason": _TEXT},
            optional=frozenset({"reason"}),
        ),
        ShopTool(run=cancel_order, description="Cancel an order that is not shipped yet.", parameters=_ORDER),
        ShopTool(
            run=create_ticket, description="Hand a case to a supervisor.", parameters={**_ORDER, "subject": _TEXT}
        ),
        ShopTool(
            run=send_email,
            description="Write to the customer.",
            parameters={"to": _TEXT, "subject": _TEXT, "body": _TEXT},
        ),
    )
}


def as_text(result: Any) -> str:
    """A tool's result as the model reads it."""
    return json.dumps(result, ensure_ascii=False)
