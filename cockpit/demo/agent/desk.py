"""The order desk: a small real agent, recorded with our SDK.

It searches the policies, lets the model call the shop's tools until it answers, and checks the answer.
"""

import json
import re
from dataclasses import dataclass, field
from sqlite3 import Connection
from typing import Any, Final

from openai import OpenAI

from cockpit.demo.agent import policies, shop
from forkpoint import Recorder

TODAY: Final = "2026-11-20"
TEMPLATE: Final = (
    "You are the order desk of Nordlys Home. Help the customer with the tools that you have.\n"
    "Keep to the policies below, and do not promise what they do not allow.\n"
    "Today is {today}.\n\nPolicies:\n{policies}"
)
_MOST_CALLS: Final = 8
_TOP_K: Final = 3
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d{2})) EUR")


@dataclass(kw_only=True)
class Desk:
    """One conversation at the desk."""

    client: OpenAI
    recorder: Recorder
    model: str
    provider: str
    shop: Connection = field(default_factory=shop.new_shop)
    messages: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""

    def handle(self, user_messages: list[str], *, with_tools: bool = True) -> str:
        """Answer the customer's messages one after the other; return the last answer."""
        answer = ""
        with self.recorder.agent("order desk", input={"task": user_messages[0]}) as agent:
            self.messages.append({"role": "system", "content": self._prompt(user_messages[0])})
            for text in user_messages:
                answer = self._turn({"role": "user", "content": text}, with_tools)
            agent.output = {"text": answer}
            self.problem = self._check(answer)
            if self.problem:
                agent.fail(self.problem)
        self.recorder.output(answer).record()
        return answer

    def _prompt(self, question: str) -> str:
        with self.recorder.retrieval("policies", query=question, top_k=_TOP_K) as retrieval:
            retrieval.output = policies.search(question, _TOP_K)
        policy_lines = "\n".join(f"[{document['id']}] {document['content']}" for document in retrieval.output)
        variables = {"today": TODAY, "policies": policy_lines}
        with self.recorder.prompt("desk.system", template=TEMPLATE, version="4", variables=variables) as prompt:
            prompt.link(retrieval)
            prompt.output = TEMPLATE.format(**variables)
        return str(prompt.output)

    def _turn(self, message: dict[str, Any], with_tools: bool) -> str:
        with self.recorder.turn(input={"messages": [message]}) as turn:
            self.messages.append(message)
            for _ in range(_MOST_CALLS):
                answer = self._ask(with_tools)
                self.messages.append(answer)
                if not answer.get("tool_calls"):
                    break
                self.messages.extend(self._call(call) for call in answer["tool_calls"])
            turn.output = {"message": answer}
        return str(answer.get("content") or "")

    def _ask(self, with_tools: bool) -> dict[str, Any]:
        tools = [tool.schema for tool in shop.TOOLS.values()] if with_tools else None
        request: dict[str, Any] = {"messages": self.messages, **({"tools": tools} if tools else {})}
        with self.recorder.model(self.model, provider=self.provider, parameters={"temperature": 0}, **request) as model:
            response = self.client.chat.completions.create(model=self.model, temperature=0, **request)
            model.record_response(response)
        answer: dict[str, Any] = response.choices[0].message.model_dump(exclude_none=True)
        return answer

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        """Run one tool. The model receives its errors."""
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        with self.recorder.tool(name, arguments, call_id=call["id"]) as tool:
            try:
                tool.output = shop.TOOLS[name].run(self.shop, **arguments)
            except shop.CarrierDown as error:
                tool.fail(error)
                tool.output = {"error": str(error)}
        self.results.append({"tool": name, "arguments": arguments, "result": tool.output})
        return {"role": "tool", "tool_call_id": call["id"], "content": shop.as_text(tool.output)}

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
