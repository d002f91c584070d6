import { expect, test } from "vitest";
import { startTitle, startWords } from "./startTime";

const created_at = "2020-05-02T10:00:00Z";

test("a run started when its recording says", () => {
  const run = { started_at: "2020-03-01T10:00:00Z", created_at };
  expect(startWords(run)).toBe("Mar 1, 2020");
  expect(startTitle(run)).toMatch(/^Mar 1, 2020, .*\d\d.* \S+$/);
});

test("a recording without times has no start", () => {
  const run = { started_at: null, created_at };
  expect(startWords(run)).toBe("added May 2, 2020");
  expect(startTitle(run)).toMatch(/^Added May 2, 2020, .*; the recording has no time$/);
});
