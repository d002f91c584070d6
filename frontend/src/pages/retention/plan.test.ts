import { expect, test } from "vitest";
import type { RetentionEffect } from "@/api/schema";
import { effectWords, planWords } from "./plan";

const effect: RetentionEffect = {
  app: "desk",
  tag: "",
  days: 30,
  runs: 3,
  pinned_runs: 2,
  held_runs: 0,
  cited_runs: 1,
};

test("words what a purge would do", () => {
  expect(planWords({ runs: 0, size: 0, effects: [] })).toBe("would delete nothing now.");
  expect(planWords({ runs: 1, size: 2048, effects: [] })).toBe("would delete 1 run (2.0 kB) now.");
  expect(planWords({ runs: 3, size: 2048, effects: [effect] })).toBe(
    "would delete 3 runs (2.0 kB) now; 3 older runs would stay.",
  );
  expect(effectWords(effect)).toBe("2 pinned, 1 cited");
});
