"""Statements after patterns of real agents: texts that act, maps, plans, summaries, tools with models inside."""

from typing import Final

from tests.bench.truth.agent import Agent, as_text, fields
from tests.bench.truth.brain import ORDERS, system_prompt
from tests.bench.truth.statements import Statement, content_of, question, run_loop, safe_call
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType

_OBSERVATIONS: Final = ("whole", "field", "lines", "indented", "tail", "words", "date", "length")


def react(agent: Agent) -> JSONValue:
    """An agent without tool calls: code reads its answers, and writes results as messages of a user."""
    messages: list[JSONValue] = agent.request(system_prompt("writer", "Name the order that you need."))
    template = agent.random.choice(("Observation: {}", "{}", "Observation:\n{}\nGo on."))
    rendering = agent.rendering(agent.random.choice(_OBSERVATIONS))
    answer: JSONValue = ""
    for _ in range(agent.random.choice((2, 3))):
        message = agent.run.model(agent.place, messages)
        answer = content_of(message)
        order = next((order for order in ORDERS if order in as_text(answer)), "")
        agent.run.choose(agent.place, order)
        if not order:
            break
        result = safe_call(agent, "get_order", {"order_id": order})
        messages += [message, {"role": "user", "content": template.format(rendering(result))}]
    return answer


def map_reduce(agent: Agent) -> JSONValue:
    """One call for each part of a text, and one that joins the answers."""
    words = agent.text().split()
    size = agent.random.choice((3, 6))
    parts = [" ".join(words[start : start + size]) for start in range(0, len(words), size)][:4]
    agent.run.choose(agent.place, len(parts))
    answers = [content_of(agent.run.model(agent.place, question("writer", f"Summarise: {part}"))) for part in parts]
    lines = [f"- {as_text(answer)}" for answer in answers]
    return content_of(agent.run.model(f"{agent.place}.reduce", question("writer", "\n".join(["Merge:", *lines]))))


def plan(agent: Agent) -> JSONValue:
    """A plan as JSON, whose fields code hands to tools and to a worker."""
    order = fields(content_of(agent.run.model(agent.place, agent.request(system_prompt("extractor")))))
    result: JSONValue = "nothing to do"
    agent.run.choose(agent.place, order.get("urgent"))
    if order.get("urgent"):
        result = safe_call(agent, "get_order", {"order_id": order.get("order_id", "none")})
    text = f"The plan was {order.get('queue')}.\nResult: {as_text(result)}"
    return content_of(agent.run.model(f"{agent.place}.worker", question("writer", text)))


def compact(agent: Agent) -> JSONValue:
    """A conversation whose beginning a summary replaces."""
    messages: list[JSONValue] = agent.request(system_prompt("writer"))
    for text in ("And what about B-77?", "Is it refunded?"):
        messages += [agent.run.model(agent.place, messages), {"role": "user", "content": text}]
    summary = content_of(agent.run.model(f"{agent.place}.summary", [*messages[:-1], _user("Summarise all of it.")]))
    kept = messages[-1:] if agent.random.random() < 0.5 else messages[-3:]
    rest = [messages[0], _user(f"Summary so far: {as_text(summary)}"), *kept]
    return content_of(agent.run.model(agent.place, rest))


def consult(agent: Agent) -> JSONValue:
    """A tool with a model and a retriever inside."""
    task, is_exact = agent.text(), agent.random.random() < 0.5
    with agent.run.tool_container(agent.place, "consult", {"task": task}) as output:
        rules = agent.run.retrieve(agent.place, task)
        answer = content_of(agent.run.model(agent.place, question("writer", "\n".join([task, *rules]))))
        output["result"] = answer if is_exact else f"The expert writes: {as_text(answer)}"
    return content_of(agent.run.model(f"{agent.place}.after", question("critic", as_text(output["result"]))))


def guard(agent: Agent) -> JSONValue:
    """A check before a call, which an empty text replaces if it fails."""
    text = agent.text()
    verdict = agent.run.code(agent.place, StepType.SAFETY, {"text": text}, _verdict)
    is_allowed = fields(verdict).get("allowed")
    agent.run.choose(agent.place, is_allowed)
    return content_of(agent.run.model(agent.place, question("writer", text if is_allowed else "Refuse politely.")))


def remind(agent: Agent) -> JSONValue:
    """A loop whose system prompt code renders from a value, and which remembers an earlier one."""
    system = system_prompt("clerk", f"The customer's case: {agent.fragment()}")
    messages: list[JSONValue] = [{"role": "system", "content": system}, _user(agent.text())]
    return run_loop(agent, messages, agent.random.sample(("get_order", "convert", "read_note"), 2))


def _verdict(value: JSONValue) -> JSONObject:
    return {"allowed": len(as_text(fields(value).get("text", ""))) % 4 > 0}


def _user(text: str) -> JSONObject:
    return {"role": "user", "content": text}


PATTERNS: Final[tuple[Statement, ...]] = (react, map_reduce, plan, compact, consult, guard, remind)
