"""An agent that is traced by Langfuse's client 2: decorators, its OpenAI wrapper and a score."""

from contextlib import suppress

from langfuse import Langfuse
from langfuse.decorators import langfuse_context, observe
from langfuse.openai import openai
from weather import QUESTION, REQUEST, TOOLS, tool_messages

client = openai.OpenAI(max_retries=0)


@observe()
def get_weather(city):
    return "rainy, 57F"


@observe()
def agent(question):
    langfuse_context.update_current_trace(name="weather-agent", user_id="u1", session_id="s1", tags=["demo"])
    answer = client.chat.completions.create(**REQUEST, tools=TOOLS).choices[0].message
    messages = tool_messages(answer, get_weather(city="Paris"))
    with suppress(openai.BadRequestError):
        client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "please fail"}])
    answer = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=TOOLS)
    langfuse_context.score_current_trace(name="helpful", value=0.75, comment="well done")
    langfuse_context.score_current_observation(name="tone", value="calm")
    print(langfuse_context.get_current_trace_id())
    return answer.choices[0].message.content


agent(QUESTION)
langfuse_context.flush()
assert Langfuse().auth_check()
