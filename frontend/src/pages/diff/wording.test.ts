import { expect, test } from "vitest";
import type { SectionItem } from "@/api/schema";
import { headlineOf, itemTitle } from "./wording";

test("joins a headline and its doubt, and ends it", () => {
  const sentence = "One change did it.";
  const headline = { cause: "One change", effect: "changed the final answer", caution: "" };
  expect(headlineOf({ headline, sentence }, "")).toEqual({ cause: "One change", effect: "changed the final answer." });
  expect(headlineOf({ headline: { ...headline, caution: "none was tested" }, sentence }, "").effect).toBe(
    "changed the final answer; none was tested.",
  );
  expect(headlineOf({ headline: null, sentence }, "")).toEqual({ cause: "", effect: sentence });
});

test("a difference that is shown in full is titled by its step", () => {
  const item = { title: "step 5 (tool pay): amount 1 → 2", text: null, values: [], messages: [] };
  const change = { path: "/amount", op: "changed" as const, base: 1, candidate: 2 };
  expect(itemTitle({ ...item, values: [change] } as unknown as SectionItem)).toBe("step 5 (tool pay)");
  expect(itemTitle(item as unknown as SectionItem)).toBe(item.title);
});
