"""An agent that is traced by LangSmith's client: decorators, its OpenAI wrapper, an attachment and feedback."""

import uuid
from contextlib import suppress

import openai
from langsmith import Client, get_current_run_tree, traceable
from langsmith.schemas import Attachment
from langsmith.wrappers import wrap_openai
from weather import QUESTION, REQUEST, TOOLS, tool_messages

langsmith = Client()
client = wrap_openai(openai.OpenAI(max_retries=0))
ids = {}


@traceable(run_type="tool", client=langsmith)
def get_weather(city):
    return "rainy, 57F"


@traceable(client=langsmith)
def look(photo: Attachment):
    return "a sky"


@traceable(name="weather-agent", tags=["demo"], metadata={"session_id": "s1"}, client=langsmith)
def agent(question):
    ids["trace"] = get_current_run_tree().id
    answer = client.chat.completions.create(**REQUEST, tools=TOOLS).choices[0].message
    messages = tool_messages(answer, get_weather(city="Paris"))
    look(Attachment(mime_type="image/png", data=b"\x89PNG"))
    with suppress(openai.BadRequestError):
        client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "please fail"}])
    chunks = client.chat.completions.create(
        model="gpt-4o-mini", messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


agent(QUESTION)
langsmith.flush()
project = langsmith.read_project(project_name="demo")
place = {"run_id": ids["trace"], "session_id": project.id}
langsmith.create_feedback(key="helpful", score=0.75, comment="well done", trace_id=ids["trace"], **place)
changed = uuid.uuid4()
langsmith.create_feedback(key="polite", score=1, feedback_id=changed, **place)
langsmith.flush()
langsmith.update_feedback(changed, score=0.5)
print(ids["trace"])
