"""Statements of random agent programs. Each one appends a value that later ones use."""

from collections import Counter
from collections.abc import Callable
from typing import Final

from tests.bench.truth.agent import Agent, as_text, fields
from tests.bench.truth.brain import ORDERS, QUEUES, system_prompt
from tests.bench.truth.runtime import AgentError
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import Message

Statement = Callable[[Agent], JSONValue]
_TOOLS: Final = ("get_order", "convert", "save_note", "read_note")
_MAX_TURNS: Final = 4
# Tools whose calls an agent or a search answers, without a step of their own.
IMPLICIT_TOOLS: Final = frozenset({"ask_expert", "find_rules"})


def ask(agent: Agent) -> JSONValue:
    """One model call with a text that code built."""
    style = agent.random.choice(("writer", "router", "extractor", "critic"))
    request = agent.request(system_prompt(style, agent.random.choice(("", "Be brief."))))
    return content_of(agent.run.model(agent.place, request))


def loop(agent: Agent) -> JSONValue:
    """An agent loop with tools, some of them in parallel."""
    tools = agent.random.sample(_TOOLS, 2)
    return run_loop(agent, agent.request(system_prompt("clerk")), tools)


def talk(agent: Agent) -> JSONValue:
    """One user turn of a conversation with memory, whose context window is limited."""
    tools = agent.random.choice(((), ("get_order", "read_note"), ("save_note", "read_note")))
    window = agent.random.choice((None, None, 4))
    content = agent.random.choice(("And what about B-77?", "Thank you. Is it refunded?", "Say that again."))
    agent.history = agent.history or [{"role": "system", "content": system_prompt("clerk")}]
    agent.history.append({"role": "user", "content": content})
    messages = agent.history if window is None else [agent.history[0], *agent.history[1:][-window:]]
    if Message(messages[1]).role == "tool":
        messages = [messages[0], *agent.history[-1:]]
    agent.run.choose(agent.place, [Message(message).role for message in messages])
    with agent.run.container(agent.place, StepType.TURN, {"messages": [agent.history[-1]]}) as output:
        length = len(messages)
        text = run_loop(agent, messages, tools)
        if messages is not agent.history:
            agent.history += messages[length:]
        output["message"] = agent.history[-1]
    return text


def search(agent: Agent) -> JSONValue:
    """Retrieval, and a model that ranks or uses what was found."""
    texts = agent.run.retrieve(agent.place, agent.text())
    if agent.random.random() < 0.5:
        best: list[JSONValue] = [*sorted(texts)[:1]]
        agent.run.code(agent.place, StepType.PLANNER, {"texts": [*texts]}, lambda _: {"best": best})
        texts = sorted(texts)[:1]
    system = system_prompt("writer", "Use these rules:\n" + "\n".join(texts))
    return content_of(agent.run.model(agent.place, agent.request(system)))


def route(agent: Agent) -> JSONValue:
    """A model's word chooses the prompt of the next one."""
    queue = content_of(agent.run.model(agent.place, agent.request(system_prompt("router"))))
    notes = {"billing": "You count money.", "shipping": "You know carriers.", "technical": "You repair things."}
    note = notes.get(as_text(queue), "You help with everything.")
    agent.run.choose(agent.place, note)
    return content_of(agent.run.model(f"{agent.place}.desk", agent.request(system_prompt("writer", note))))


def vote(agent: Agent) -> JSONValue:
    """The majority of three answers."""
    request = agent.request(system_prompt("router"))
    answers = [as_text(content_of(agent.run.model(agent.place, request, temperature=heat / 2))) for heat in range(3)]
    winner = Counter(answers).most_common(1)[0][0]
    agent.run.choose(agent.place, winner)
    return winner


def retry(agent: Agent) -> JSONValue:
    """A tool call that is repeated with other arguments after an error, which a model sees."""
    text = agent.text()
    for attempt in range(3):
        try:
            result = agent.run.tool(agent.place, "flaky", {"about": text, "attempt": attempt})
            agent.run.choose(agent.place, attempt)
            return result
        except AgentError as error:
            text = as_text(
                content_of(agent.run.model(agent.place, question("writer", f"Repair this: {text}\n{error}")))
            )
    agent.run.choose(agent.place, "failed")
    return "failed"


def delegate(agent: Agent) -> JSONValue:
    """A sub-agent with a task of its own."""
    task = agent.text()
    with agent.run.container(agent.place, StepType.AGENT, {"task": task}) as output:
        answer = run_loop(agent, question("clerk", task), ("get_order", "convert"))
        output["text"] = answer
    return answer


def hand_over(agent: Agent) -> JSONValue:
    """A loop whose calls are answered by agents or searches without a tool step."""
    return run_loop(
        agent, agent.request(system_prompt("clerk")), agent.random.choice((("ask_expert",), ("find_rules",)))
    )


def criticise(agent: Agent) -> JSONValue:
    """A draft that a critic may send back."""
    text = agent.text()
    draft = as_text(content_of(agent.run.model(agent.place, question("writer", text))))
    drafts = [draft]
    for _ in range(2):
        verdict = content_of(agent.run.model(f"{agent.place}.critic", question("critic", f"Judge this: {draft}")))
        if verdict == "good":
            break
        draft = as_text(content_of(agent.run.model(agent.place, question("writer", f"{text}\n{verdict}: {draft}"))))
        drafts.append(draft)
    agent.run.choose(agent.place, len(drafts))
    return draft


def call_tool(agent: Agent) -> JSONValue:
    """A tool call that code makes."""
    arguments: JSONObject = {"order_id": agent.random.choice((agent.fragment(), ORDERS[0])), "about": agent.fragment()}
    return safe_call(agent, "get_order", arguments)


def remember(agent: Agent) -> JSONValue:
    """Code writes a note, and reads one."""
    key = agent.random.choice(QUEUES)
    safe_call(agent, "save_note", {"key": key, "text": agent.fragment()})
    return safe_call(agent, "read_note", {"key": agent.random.choice((key, *QUEUES))})


def render(agent: Agent) -> JSONValue:
    """A prompt template that a model gets."""
    variables: JSONObject = {"case": agent.fragment(), "tone": agent.random.choice(("warm", "formal"))}
    text = agent.run.prompt(agent.place, "Write about {case} in a {tone} tone.", variables)
    return content_of(agent.run.model(agent.place, question("writer", text)))


def check(agent: Agent) -> JSONValue:
    """A check in code, whose verdict a model sees."""
    value = agent.value()
    verdict = agent.run.code(
        agent.place,
        StepType.VALIDATOR,
        value,
        lambda value: {"ok": len(as_text(value)) % 3 > 0, "size": len(as_text(value))},
    )
    return content_of(agent.run.model(agent.place, question("critic", f"The check says {as_text(verdict)}.")))


def extract(agent: Agent) -> JSONValue:
    """Structured output whose fields become arguments of a tool."""
    answer = content_of(agent.run.model(agent.place, agent.request(system_prompt("extractor"))))
    factor, data = agent.random.choice((1, 2)), fields(answer)
    amount = data.get("amount")
    arguments: JSONObject = {
        "order_id": data.get("order_id", "none"),
        "amount": amount * factor if isinstance(amount, int) else amount,
        "date": str(data.get("date", "")).replace("-", "/"),
    }
    return safe_call(agent, "convert", arguments)


def summarise(agent: Agent) -> JSONValue:
    """A summary of several values, each in a message of its own."""
    messages: list[JSONValue] = [{"role": "system", "content": system_prompt("writer")}]
    for role in ("user", "assistant", "user"):
        messages.append({"role": role, "content": agent.fragment() or "nothing"})
    return content_of(agent.run.model(agent.place, messages))


def run_loop(agent: Agent, messages: list[JSONValue], tools: tuple[str, ...] | list[str]) -> JSONValue:
    message: JSONObject = {}
    for _ in range(_MAX_TURNS):
        message = agent.run.model(agent.place, messages, tools=tools)
        messages.append(message)
        for call in Message(message).calls:
            name, arguments, call_id = str(call["name"]), fields(call["arguments"]), str(call["id"])
            result = _answer(agent, name, arguments, call_id)
            if name in IMPLICIT_TOOLS:
                agent.run.answer_without_step(agent.place, name, arguments, result)
            messages.append({"role": "tool", "tool_call_id": call_id, "content": as_text(result)})
        if not Message(message).calls:
            break
    return content_of(message)


def _answer(agent: Agent, tool: str, arguments: JSONObject, call_id: str) -> JSONValue:
    if tool == "find_rules":
        return "\n".join(agent.run.retrieve(agent.place, as_text(arguments.get("task", "")), 1))
    if tool == "ask_expert":
        with agent.run.container(agent.place, StepType.AGENT, {"task": arguments.get("task")}) as output:
            text = content_of(
                agent.run.model(f"{agent.place}.expert", question("writer", as_text(arguments.get("task"))))
            )
            output["text"] = text
        return text
    return safe_call(agent, tool, arguments, call_id)


def safe_call(agent: Agent, tool: str, arguments: JSONObject, call_id: str = "") -> JSONValue:
    try:
        return agent.run.tool(agent.place, tool, arguments, call_id)
    except AgentError as error:
        return f"Error: {error}"


def question(style: str, text: str) -> list[JSONValue]:
    return [{"role": "system", "content": system_prompt(style)}, {"role": "user", "content": text}]


def content_of(message: JSONObject) -> JSONValue:
    return message.get("content") or ""


STATEMENTS: Final[tuple[Statement, ...]] = (
    ask,
    loop,
    talk,
    search,
    route,
    vote,
    retry,
    delegate,
    hand_over,
    criticise,
    call_tool,
    remember,
    render,
    check,
    extract,
    summarise,
)
