"""The order desk: a small real agent, its tools and its recordings."""

from typing import Final

APP: Final = "order-desk"
