"""What the agents ask the model."""

QUESTION = "What's the weather in Paris?"
MESSAGES = [{"role": "system", "content": "You are helpful."}, {"role": "user", "content": QUESTION}]
REQUEST = {"model": "gpt-4o-mini", "messages": MESSAGES, "temperature": 0.2, "seed": 7, "max_tokens": 100}
_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_FUNCTION = {"name": "get_weather", "description": "Get the weather of a city", "parameters": _PARAMETERS}
TOOLS = [{"type": "function", "function": _FUNCTION}]


def tool_messages(answer, result):
    """Return the conversation after a tool's result."""
    call = answer.model_dump(exclude_none=True)
    return [*MESSAGES, call, {"role": "tool", "tool_call_id": answer.tool_calls[0].id, "content": result}]
