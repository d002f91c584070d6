import { expect, test } from "vitest";
import { aRun, aStep } from "@/testing/factories";
import { sharedNumbers, storyOf } from "./story";

const CHECK = "a refund of 4200.00 EUR was asked for, but the order cost 42.00 EUR";

test("tells the request, the refused call, the check and the answer", () => {
  const run = aRun({ name: "Refund it.", answer: "I am sorry.", outcome_reason: `refund fits: ${CHECK}` });
  const steps = [
    aStep({ sequence_no: 6, type: "tool", summary: "get_order(A-1042)" }),
    aStep({ sequence_no: 8, type: "tool", summary: "issue_refund(A-1042, 4200)" }),
    aStep({ sequence_no: 10, type: "validator", name: "refund fits", status: "error" }),
    aStep({ sequence_no: 11, type: "tool", summary: "close()" }),
  ];
  expect(storyOf(run, steps)).toEqual({
    request: "Refund it.",
    answer: "I am sorry.",
    check: { number: 10, text: "A refund of 4200.00 EUR was asked for, but the order cost 42.00 EUR." },
    call: { number: 8, text: "issue_refund(A-1042, 4200)" },
  });
});

test("a run without calls and checks has only words", () => {
  expect(storyOf(aRun(), [aStep({ sequence_no: 1 })])).toMatchObject({ check: null, call: null });
});

test("marks the numbers of a call that its check names", () => {
  const marks = (text: string, counterpart: string) =>
    sharedNumbers(text, counterpart).map((piece) => (piece.isShared ? `*${piece.text}*` : piece.text)).join(""); // oxfmt-ignore
  expect(marks("issue_refund(A-1042, 4200)", CHECK)).toBe("issue_refund(A-1042, *4200*)");
  expect(marks(CHECK, "issue_refund(A-1042, 4200)")).toBe(CHECK.replace("4200.00", "*4200.00*"));
});
