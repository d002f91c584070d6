"""The order desk: a small real agent, recorded with our SDK.

It searches the policies, lets the model call the shop's tools until it answers, and checks the answer.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from sqlite3 import Connection
from typing import Any, Final

from cockpit.demo.agent import chat, policies, shop
from cockpit.demo.local_model.model import SMALL
from forkpoint import Recorder

PROVIDER: Final = "local"
TODAY: Final = "2026-11-20"
TEMPLATE: Final = (
    "You are the order desk of Nordlys Home. Help the customer with the tools that you have.\n"
    "Keep to the policies below, and do not promise what they do not allow.\n"
    "Today is {today}.\n\nPolicies:\n{policies}"
)
_MOST_CALLS: Final = 8
_TOP_K: Final = 3
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d{2})) EUR")


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The input of the desk: the customer's messages, one per turn, and the model that answers them."""

    messages: Sequence[str]
    model: str = SMALL
    with_tools: bool = True


@dataclass(kw_only=True)
class Desk:
    """One conversation at the desk. `base_url` is the address of the model's provider."""

    conversation: Conversation
    recorder: Recorder
    base_url: str
    answer: str = ""
    shop: Connection = field(default_factory=shop.new_shop)
    messages: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""

    def handle(self) -> None:
        """Answer the customer's messages one after the other."""
        first = self.conversation.messages[0]
        with self.recorder.agent("order desk", input={"task": first}) as agent:
            self.messages.append({"role": "system", "content": self._prompt(first)})
            for text in self.conversation.messages:
                self.answer = self._turn({"role": "user", "content": text})
            agent.output = {"text": self.answer}
            self.problem = self._check(self.answer)
            if self.problem:
                agent.fail(self.problem)
        self.recorder.output(self.answer).record()

    def _prompt(self, question: str) -> str:
        with self.recorder.retrieval("policies", query=question, top_k=_TOP_K) as retrieval:
            retrieval.output = policies.search(question, _TOP_K)
        policy_lines = "\n".join(f"[{document['id']}] {document['content']}" for document in retrieval.output)
        variables = {"today": TODAY, "policies": policy_lines}
        with self.recorder.prompt("desk.system", template=TEMPLATE, version="4", variables=variables) as prompt:
            prompt.link(retrieval)
            prompt.output = TEMPLATE.format(**variables)
        return str(prompt.output)

    def _turn(self, message: dict[str, Any]) -> str:
        with self.recorder.turn(input={"messages": [message]}) as turn:
            self.messages.append(message)
            for _ in range(_MOST_CALLS):
                answer = self._ask()
                self.messages.append(answer)
                if not answer.get("tool_calls"):
                    break
                self.messages.extend(self._call(call) for call in answer["tool_calls"])
            turn.output = {"message": answer}
        return str(answer.get("content") or "")

    def _ask(self) -> dict[str, Any]:
        request: dict[str, Any] = {"messages": self.messages}
        if self.conversation.with_tools:
            request["tools"] = [tool.schema for tool in shop.TOOLS.values()]
        model, parameters = self.conversation.model, {"temperature": 0}
        with self.recorder.model(model, provider=PROVIDER, parameters=parameters, **request) as step:
            response = chat.complete(self.base_url, {"model": model, **parameters, **request})
            step.record_response(response)
        message = response["choices"][0]["message"]
        return {name: value for name, value in message.items() if value is not None}

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        """Run one tool, unless a rerun answers its call from the recording. The model receives its errors."""
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        run = self.recorder.tool(name, arguments, call_id=call["id"])(shop.TOOLS[name].run)
        try:
            result = run(self.shop, **arguments)
        except shop.CarrierDown as error:
            result = {"error": str(error)}
        self.results.append({"tool": name, "arguments": arguments, "result": result})
        return {"role": "tool", "tool_call_id": call["id"], "content": shop.as_text(result)}

    def _check(self, answer: str) -> str:
        """Return the problem if the refund does not match the order, or the answer not the refund."""
        refunds = [call for call in self.results if call["tool"] == "issue_refund"]
        if not refunds:
            return ""
        order = next(call["result"] for call in self.results if call["tool"] == "get_order")
        amount, total = float(refunds[-1]["arguments"]["amount"]), order["total"] / 100
        problem = self._problem(amount, total, refunds[-1]["result"], answer)
        facts = {"order_total_eur": total, "refund_asked_eur": amount, "answer": answer}
        with self.recorder.validator("refund fits the order", input=facts) as check:
            check.decide(not problem, problem)
        return problem

    @staticmethod
    def _problem(amount: float, total: float, result: dict[str, Any], answer: str) -> str:
        if amount > total:
            return f"a refund of {amount:.2f} EUR was asked for, but the order cost {total:.2f} EUR"
        if result.get("status") == "refunded" and f"{amount:.2f}" not in _AMOUNT.findall(answer):
            return f"the answer does not name the {amount:.2f} EUR that were refunded"
        return ""


def answer(
    conversation: Conversation, *, recorder: Recorder, base_url: str, metadata: Mapping[str, str] | None = None
) -> Desk:
    """Answer a conversation in a recorded run; return the desk as it is at the end."""
    name, facts = conversation.messages[0], dict(metadata or {})
    with recorder.run(name, input=asdict(conversation), tags=["demo"], metadata=facts) as run:
        desk = Desk(conversation=conversation, recorder=recorder, base_url=base_url)
        desk.handle()
        run.output = desk.answer
        if desk.problem:
            run.fail(desk.problem)
    return desk
