import { expect, test } from "vitest";
import { judgementWords, withScores } from "./judgementWords";

test("conditions on a judgement read as one phrase", () => {
  expect(judgementWords({ judgement: "helpful", max_score: 0.5 })).toBe("helpful ≤ 0.5");
  expect(judgementWords({ judgement_kind: "fail,not_run", judgement_source: "person" })).toBe(
    "failed or did not run by person",
  );
  expect(judgementWords({ outcome: "failed" })).toBe("");
});

test("an empty bound leaves the search", () => {
  expect(withScores({ q: "a", min_score: 1, max_score: 2 }, undefined, 2)).toEqual({ q: "a", max_score: 2 });
});
