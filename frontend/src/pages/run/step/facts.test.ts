import { expect, test } from "vitest";
import { factName, factWords, hookFacts } from "./facts";

test("shows lists in full and codes as sentences", () => {
  expect(factWords(["messages", "model"])).toBe("messages, model");
  expect(factWords("signature_mismatch")).toBe("Something the answer depends on differs from the recording.");
  expect(factWords("desk-small-1")).toBe("desk-small-1");
  expect(factWords({ similarity: 0.87 })).toBe("{ similarity: 0.87 }");
});

test("shows original arguments changed by a hook", () => {
  const hook = { name: "right", action: "modify_args", asked: { order_id: "B-9" } };
  expect(hookFacts("hook", hook)).toEqual([
    ["hook", "right changed the arguments"],
    ["requested with", '{ order_id: "B-9" }'],
  ]);
  const actions = [{ name: "brief", action: "system_message", text: "Be brief." }];
  expect(hookFacts("hooks", actions)).toEqual([
    ["hook", "brief added a system message"],
    ["message", "Be brief."],
  ]);
  expect(hookFacts("differs", ["messages"])).toBeNull();
});

test("formats fact names", () => {
  expect([factName("differs"), factName("served_model")]).toEqual(["what differs", "served model"]);
});
