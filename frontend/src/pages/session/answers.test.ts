import { expect, test } from "vitest";
import { answerText, readAnswer } from "./answers";

test("parses JSON and keeps other text", () => {
  expect(readAnswer('{"status": "shipped"}')).toEqual({ value: { status: "shipped" } });
  expect(readAnswer("42")).toEqual({ value: 42 });
  expect(readAnswer("shipped yesterday")).toEqual({ value: "shipped yesterday" });
  expect(readAnswer("")).toEqual({ value: "" });
});

test("rejects broken JSON", () => {
  expect(readAnswer('{"status": ')).toHaveProperty("error");
});

test("extracts the text of an answer", () => {
  expect(answerText({ text: "Done.", citations: [] })).toBe("Done.");
  expect(answerText("Done.")).toBe("Done.");
  expect(answerText({ total: 3 })).toBeNull();
  expect(answerText([1])).toBeNull();
});
