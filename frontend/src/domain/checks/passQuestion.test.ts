import { expect, test } from "vitest";
import { judgementOf, NO_JUDGEMENT } from "./passQuestion";

test("a bound is sent only if there is one", () => {
  expect(judgementOf({ ...NO_JUDGEMENT, judgement: " helpful " })).toEqual({ judgement: "helpful" });
  expect(judgementOf({ judgement: "toxicity", side: "at_most", limit: 0.1 })).toEqual({
    judgement: "toxicity",
    at_most: 0.1,
  });
});
