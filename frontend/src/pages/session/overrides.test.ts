import { describe, expect, it } from "vitest";
import type { Override } from "@/api/schema";
import { overrideInWords } from "./overrides";

function override(given: Partial<Override>): Override {
  return {
    match: { step: 5, type: null, name: null, model: null },
    prompt: null,
    messages: null,
    model: null,
    retrieval: null,
    tool: null,
    output: null,
    ...given,
  };
}

describe("overrideInWords", () => {
  it("says where and what, and keeps zero and empty as values", () => {
    const words = overrideInWords(
      override({
        model: { provider: null, model: "m1", temperature: 0, top_p: null, max_tokens: null, seed: null, stop: null },
      }),
    );
    expect(words).toEqual({
      where: "step 5",
      sets: [
        { name: "model", value: "m1" },
        { name: "temperature", value: "0" },
      ],
    });
    const empty = overrideInWords(override({ tool: { output: "", status: "ok" } }));
    expect(empty.sets).toEqual([{ name: "tool answers (ok)", value: "" }]);
  });

  it("names a whole kind of steps", () => {
    const match = { step: null, type: "model" as const, name: null, model: "gpt-4*" };
    expect(overrideInWords(override({ match })).where).toBe("every model step on gpt-4*");
  });
});
