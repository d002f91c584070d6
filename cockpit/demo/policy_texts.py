"""The shop's policies, by id."""

from typing import Final

POLICIES: Final = {
    "refunds-damaged": "Damaged goods are refunded in full within 30 days of delivery. The customer can keep the "
    "damaged item.",
    "refunds-limit": "The desk refunds up to 200 EUR per order. Larger refunds go to a supervisor by ticket.",
    "returns": "Unused goods can be returned within 14 days of delivery. The customer pays for the return parcel.",
    "shipping": "Standard parcels arrive 3 to 5 working days after the order. Express parcels arrive on the next "
    "working day and cost 9 EUR.",
    "cancellation": "An order can be cancelled free of charge until it is shipped. After that it can be returned.",
    "warranty": "Lamps and kitchen appliances have a warranty of 24 months. Bulbs are not covered.",
}
