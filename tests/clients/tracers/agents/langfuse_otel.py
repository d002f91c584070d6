"""An agent that is traced by Langfuse's clients 3 to 5, which send spans over OTLP and scores beside them."""

from contextlib import suppress

from langfuse import get_client, observe
from langfuse.openai import openai
from weather import QUESTION, REQUEST, TOOLS, tool_messages

client = openai.OpenAI(max_retries=0)
langfuse = get_client()


@observe(as_type="tool")
def get_weather(city):
    return "rainy, 57F"


@observe()
def agent(question):
    answer = client.chat.completions.create(**REQUEST, tools=TOOLS).choices[0].message
    messages = tool_messages(answer, get_weather(city="Paris"))
    with suppress(openai.BadRequestError):
        client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "please fail"}])
    chunks = client.chat.completions.create(
        model="gpt-4o-mini", messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    langfuse.score_current_trace(name="helpful", value=0.75, comment="well done")
    langfuse.score_current_span(name="tone", value="calm")
    print(langfuse.get_current_trace_id())
    return text


agent(QUESTION)
langfuse.flush()
assert langfuse.auth_check()
