"""Google's client with functions that it calls automatically: sync or async, streamed or not."""

import asyncio
from typing import Any

from desk import HOW, QUESTION, get_time, get_weather
from google import genai
from google.genai import types

client = genai.Client()
config = types.GenerateContentConfig(
    tools=[get_weather, get_time], system_instruction="Be brief.", temperature=0.2, max_output_tokens=100
)
options: Any = {"model": "gemini-2.5-flash", "contents": QUESTION, "config": config}


async def main() -> str:
    if HOW == "async":
        return str((await client.aio.models.generate_content(**options)).text)
    if HOW == "async stream":
        return "".join([part.text or "" async for part in await client.aio.models.generate_content_stream(**options)])
    if HOW == "stream":
        return "".join(part.text or "" for part in client.models.generate_content_stream(**options))
    return str(client.models.generate_content(**options).text)


try:
    print(asyncio.run(main()))
except Exception as error:
    print(type(error).__name__, error)
