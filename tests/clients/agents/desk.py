"""What the sample agents share: a question and two tools. The first argument selects how an agent works."""

import sys

HOW = sys.argv[1] if len(sys.argv) > 1 else "sync"
QUESTION = "please fail" if "error" in sys.argv else "Weather and time in Zürich?"


def get_weather(city: str) -> str:
    """Weather of a city.

    Args:
        city: the city
    """
    return f"21 degrees in {city}"


def get_time(city: str) -> str:
    """Time in a city.

    Args:
        city: the city
    """
    return f"noon in {city}"


TOOLS = {"get_weather": get_weather, "get_time": get_time}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
