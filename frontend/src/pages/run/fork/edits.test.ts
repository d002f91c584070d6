import { expect, test } from "vitest";
import { emptyDraft, removeEntry } from "@/domain/overrides/draft";
import { describeMatch, describeSettings } from "@/domain/overrides/wording";
import { matchFor, setField, setPart } from "./edits";

const step = { sequence_no: 5, type: "model" } as const;
const one = matchFor("step", step);
const every = matchFor("type", step);

test("an edit appears as one entry and disappears when it is taken back", () => {
  const edited = setField(
    setField(emptyDraft, every, "model", "temperature", 0),
    every,
    "prompt",
    "system",
    "Be brief.",
  );
  expect(edited.overrides).toEqual([
    { match: { type: "model" }, model: { temperature: 0 }, prompt: { system: "Be brief." } },
  ]);
  const back = setField(
    setField(edited, every, "model", "temperature", undefined),
    every,
    "prompt",
    "system",
    undefined,
  );
  expect(back.overrides).toEqual([]);
});

test("zero, empty and null are values, not absence", () => {
  const draft = setPart(setField(emptyDraft, one, "prompt", "system", ""), one, "output", null);
  expect(draft.overrides).toEqual([{ match: { step: 5 }, prompt: { system: "" }, output: null }]);
});

test("edits of one step and of every step stand beside each other", () => {
  const draft = setField(setField(emptyDraft, one, "model", "model", "m1"), every, "model", "model", "m2");
  expect(draft.overrides.map(describeMatch)).toEqual(["step 5", "every model step"]);
  expect(removeEntry(draft, 0).overrides.map(describeSettings)).toEqual(["m2"]);
});
