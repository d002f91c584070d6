import { expect, test } from "vitest";
import { aStep } from "@/testing/factories";
import { revealOrder, revealPause } from "./reveal";

const steps = [
  aStep({ sequence_no: 1, type: "agent" }),
  aStep({ sequence_no: 2, type: "prompt" }),
  aStep({ sequence_no: 3 }),
  aStep({ sequence_no: 4, type: "tool" }),
];
const numbers = (list: readonly { sequence_no: number }[]) => list.map((step) => step.sequence_no);

test("an agent around the fork gets its label last, once the replay has ended", () => {
  const running = revealOrder(steps, 3, false);
  expect([numbers(running.copies), numbers(running.sequence)]).toEqual([[2], [3, 4]]);
  expect(numbers(revealOrder(steps, 3, true).sequence)).toEqual([3, 4, 1]);
});

test("all steps appear within two seconds", () => {
  for (const count of [1, 11, 400]) expect(count * revealPause(count)).toBeLessThanOrEqual(2000.001);
});
