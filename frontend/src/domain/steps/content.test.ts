import { expect, test } from "vitest";
import {
  originOf,
  readAnswer,
  readDocuments,
  readMessage,
  readModelInput,
  readText,
  systemPrompt,
  templatePieces,
} from "./content";

test("parses a request and keeps other fields", () => {
  const input = readModelInput({
    messages: [
      { role: "system", content: "Be kind." },
      { role: "assistant", content: null, tool_calls: [{ id: "c1", name: "get_order", arguments: { id: "A-1" } }] },
      { role: "tool", tool_call_id: "c1", content: "{}" },
    ],
    tools: [{ name: "get_order" }],
    parameters: { temperature: 0 },
    response_format: { type: "json" },
  });
  expect(input?.messages.map((message) => message.role)).toEqual(["system", "assistant", "tool"]);
  expect(input?.messages[1]?.calls).toEqual([{ id: "c1", name: "get_order", arguments: { id: "A-1" } }]);
  expect(input?.rest).toEqual({ response_format: { type: "json" } });
  expect(input && systemPrompt(input)).toBe("Be kind.");
});

test("joins text blocks and keeps others", () => {
  const message = readMessage({
    role: "user",
    content: [{ type: "text", text: "see" }, { type: "image", url: "x" }, "this"],
  });
  expect(message).toMatchObject({ text: "see\n\nthis", blocks: [{ type: "image", url: "x" }] });
});

test("rejects payloads of another shape", () => {
  expect(readModelInput({ prompt: "hello" })).toBeNull();
  expect(readModelInput({ messages: ["hello"] })).toBeNull();
  expect(readMessage({ content: "no role" })).toBeNull();
  expect([readText({ answer: 1 }), readText({ text: "" }), readText("x")]).toEqual([null, "", "x"]);
});

test("keeps the finish reason of an answer", () => {
  const answer = readAnswer({ message: { role: "assistant", content: "Done." }, finish_reason: "stop" });
  expect([answer?.message.text, answer?.rest]).toEqual(["Done.", { finish_reason: "stop" }]);
});

test("takes document titles from metadata", () => {
  const documents = readDocuments({
    documents: [{ id: "d1", content: "x", score: 0.9, metadata: { source: "policy.md" } }, "bare"],
  });
  expect(documents?.map(({ id, title, score }) => [id, title, score])).toEqual([
    ["d1", "policy.md", 0.9],
    ["2", "", null],
  ]);
});

test("splits a template at its variables", () => {
  expect(templatePieces("Hi {name}, {{ order.id }}!").map((piece) => piece.variable ?? piece.text)).toEqual([
    "Hi ",
    "name",
    ", ",
    "order.id",
    "!",
  ]);
  expect(templatePieces('{"json": 1}')).toHaveLength(1);
});

test("finds the step behind a tool message", () => {
  const edge = {
    step: 4,
    step_id: "s",
    type: "tool",
    name: "get_order",
    kind: "tool_call_id",
    evidence: "call c9",
    consumer_path: "/messages/3/content",
    producer_path: "",
  } as const;
  const history = { ...edge, step: 2, kind: "history", consumer_path: "/messages/5" } as const;
  expect(originOf(3, [edge, history])).toEqual({ step: 4, name: "get_order" });
  expect([originOf(30, [edge]), originOf(5, [history])]).toEqual([null, null]);
});
