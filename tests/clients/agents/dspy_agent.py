"""A DSPy agent on OpenAI's model."""

import dspy
from desk import QUESTION, get_time, get_weather

dspy.configure(lm=dspy.LM("openai/gpt-4o-mini", cache=False))
print(dspy.ReAct("question -> answer", tools=[get_weather, get_time])(question=QUESTION).answer)
