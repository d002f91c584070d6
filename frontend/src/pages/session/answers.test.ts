import { expect, test } from "vitest";
import { answerText, readAnswer } from "./answers";

test("an answer is JSON where it is JSON, and a text otherwise", () => {
  expect(readAnswer('{"status": "shipped"}')).toEqual({ value: { status: "shipped" } });
  expect(readAnswer("42")).toEqual({ value: 42 });
  expect(readAnswer("shipped yesterday")).toEqual({ value: "shipped yesterday" });
  expect(readAnswer("")).toEqual({ value: "" });
});

test("broken JSON is not sent as a text by accident", () => {
  expect(readAnswer('{"status": ')).toHaveProperty("error");
});

test("the text of an answer is found where it is one", () => {
  expect(answerText({ text: "Done.", citations: [] })).toBe("Done.");
  expect(answerText("Done.")).toBe("Done.");
  expect(answerText({ total: 3 })).toBeNull();
  expect(answerText([1])).toBeNull();
});
