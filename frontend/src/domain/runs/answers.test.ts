import { expect, test } from "vitest";
import { answerEffect } from "./answers";

test("shows the answer before and after", () => {
  const effect = answerEffect({
    source_answer: "I am sorry: 4200.00 EUR is too much.",
    answer: "I have refunded 42 EUR.",
  });
  expect(effect).toEqual({
    isSame: false,
    before: "I am sorry: 4200.00 EUR is too much.",
    after: "I have refunded 42 EUR.",
  });
});

test("leaves out a long start that both answers share", () => {
  const start = "Your order A-1042 was delivered on Monday, so";
  const effect = answerEffect({ source_answer: `${start} it is late.`, answer: `${start} you can return it.` });
  expect(effect).toEqual({
    isSame: false,
    before: "…delivered on Monday, so it is late.",
    after: "…delivered on Monday, so you can return it.",
  });
});

test("says that the answer is the same", () => {
  expect(answerEffect({ source_answer: "Done.", answer: "Done." })).toEqual({
    isSame: true,
    before: "",
    after: "Done.",
  });
});

test("a run without a source has only its answer", () => {
  expect(answerEffect({ source_answer: null, answer: "Done." })).toEqual({ isSame: false, before: "", after: "Done." });
  expect(answerEffect({ source_answer: "", answer: "Done." })).toEqual({ isSame: false, before: "", after: "Done." });
});

test("does not call answers the same whose ends are unknown", () => {
  const answer = "I have refunded the lamp, and the…";
  expect(answerEffect({ source_answer: answer, answer })).toEqual({ isSame: false, before: "", after: answer });
});
