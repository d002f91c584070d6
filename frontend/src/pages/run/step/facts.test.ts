import { expect, test } from "vitest";
import { factName, factWords } from "./facts";

test("lists are told in full, codes as sentences", () => {
  expect(factWords(["messages", "model"])).toBe("messages, model");
  expect(factWords("signature_mismatch")).toBe("What determines the answer differs from the recording.");
  expect(factWords("desk-small-1")).toBe("desk-small-1");
  expect(factWords({ similarity: 0.87 })).toBe("{ similarity: 0.87 }");
});

test("names read as words", () => {
  expect([factName("differs"), factName("served_model")]).toEqual(["what differs", "served model"]);
});
