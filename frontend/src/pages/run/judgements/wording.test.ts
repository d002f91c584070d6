import { expect, test } from "vitest";
import { authorWords, judgementsOfStep, statedWords } from "./wording";

test("names the source of a judgement", () => {
  expect(authorWords({ source: "person", by: "ada" })).toBe("ada");
  expect(authorWords({ source: "import", by: "" })).toBe("imported");
  expect(authorWords({ source: "import", by: "ada" })).toBe("imported, from ada");
});

test("states the verdict or value", () => {
  expect(statedWords({ kind: "score", value: 0.5 })).toBe("0.5");
  expect(statedWords({ kind: "not_run", value: null })).toBe("did not run");
  expect(statedWords({ kind: "fail", value: null })).toBe("fail");
});

test("separates step and run judgements", () => {
  const all = [{ step: null }, { step: 3 }];
  expect(judgementsOfStep(all, 3)).toEqual([{ step: 3 }]);
  expect(judgementsOfStep(all, null)).toEqual([{ step: null }]);
});
