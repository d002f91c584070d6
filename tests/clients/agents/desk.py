"""What the sample agents share: a question and two tools. The first argument selects how an agent works.

Each execution of a tool adds a line to the file that `DESK_LOG` names.
"""

import os
import sys
from pathlib import Path
from typing import Any

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


if (KIND := os.environ.get("WEATHER_RESULTS")) is not None:
    # What frameworks make a text of, each in its own way.
    from pydantic import BaseModel

    class Weather(BaseModel):
        degrees: float
        city: str
        warning: str | None = None

    Result: Any = Weather if KIND == "model" else dict

    def get_weather(city: str) -> Result:  # type: ignore[misc]  # its agents run it in place of the one above
        """Weather of a city.

        Args:
            city: the city
        """
        note("get_weather")
        if KIND == "model":
            return Weather(degrees=21, city=city)
        return {"weather": 21.0, "city": city, "hours": [6, 18.0], "place": {"lon": 8.5, "lat": 47}}


TOOLS = {"get_weather": get_weather, "get_time": get_time}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
