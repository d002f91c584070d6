"""What the sample agents share: a question and two tools. The first argument selects how an agent works.

Each execution of a tool adds a line to the file that `DESK_LOG` names.
"""

import os
import sys
from pathlib import Path

HOW = sys.argv[1] if len(sys.argv) > 1 else "sync"
QUESTION = "please fail" if "error" in sys.argv else "Weather and time in Zürich?"


def note(name: str) -> None:
    if path := os.environ.get("DESK_LOG"):
        with Path(path).open("a") as file:
            file.write(f"{name}\n")


def get_weather(city: str) -> str:
    """Weather of a city.

    Args:
        city: the city
    """
    note("get_weather")
    return f"21 degrees in {city}"


def get_time(city: str) -> str:
    """Time in a city.

    Args:
        city: the city
    """
    note("get_time")
    return f"noon in {city}"


TOOLS = {"get_weather": get_weather, "get_time": get_time}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
