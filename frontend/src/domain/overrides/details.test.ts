import { describe, expect, it } from "vitest";
import type { Override } from "@/api/schema";
import { describeOverride } from "./details";

const noModelChanges: NonNullable<Override["model"]> = {
  provider: null,
  model: null,
  temperature: null,
  top_p: null,
  max_tokens: null,
  seed: null,
  stop: null,
  tools: null,
  response_format: null,
  parameters: null,
  unset: null,
};

function override(parts: Partial<Override>): Override {
  return {
    match: { step: 5, type: null, name: null, model: null, since: null, before: null },
    prompt: null,
    messages: null,
    model: null,
    retrieval: null,
    arguments: null,
    tool: null,
    output: null,
    ...parts,
  };
}

describe("describeOverride", () => {
  it("keeps zero and empty values", () => {
    const words = describeOverride(
      override({
        model: { ...noModelChanges, model: "m1", temperature: 0, parameters: { n: 2 }, unset: ["response_format"] },
        arguments: { id: 2 },
      }),
    );
    expect(words).toEqual({
      scope: "step 5",
      sets: [
        { name: "model", value: "m1" },
        { name: "temperature", value: "0" },
        { name: "n", value: "2" },
        { name: "response format", value: "removed" },
        { name: "arguments", value: '{"id":2}' },
      ],
    });
    const empty = describeOverride(override({ tool: { output: "", status: "ok" } }));
    expect(empty.sets).toEqual([{ name: "tool result (ok)", value: "" }]);
  });

  it("shows the new words of edited passages", () => {
    const passages = [
      { before: "Oslo", after: "Bergen" },
      { before: "2 nights", after: "5 nights" },
    ];
    const edit = { op: "replace" as const, index: 1, role: null, content: null, message: null, passages };
    expect(describeOverride(override({ messages: [edit] })).sets).toEqual([
      { name: "replace message 2", value: "Bergen … 5 nights" },
    ]);
  });

  it("describes a match by type", () => {
    const match = { step: null, type: "model" as const, name: null, model: "gpt-4*", since: 7, before: null };
    expect(describeOverride(override({ match })).scope).toBe("every model step on gpt-4* from step 7 on");
  });
});
