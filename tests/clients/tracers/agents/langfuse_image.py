"""A model call with an image, which Langfuse's clients 3 to 5 upload beside the trace."""

from langfuse import get_client, observe
from langfuse.openai import openai

client = openai.OpenAI(max_retries=0)
langfuse = get_client()
IMAGE = "data:image/png;base64,iVBORw0KGgo="


@observe()
def agent():
    text = {"type": "text", "text": "What is this?"}
    image = {"type": "image_url", "image_url": {"url": IMAGE}}
    client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": [text, image]}])
    print(langfuse.get_current_trace_id())


agent()
langfuse.flush()
