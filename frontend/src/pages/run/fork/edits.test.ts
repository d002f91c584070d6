import { expect, test } from "vitest";
import { emptyDraft, removeEntry } from "@/domain/overrides/draft";
import { describeMatch, describeSettings } from "@/domain/overrides/wording";
import { matchFor, setField, setPart } from "./edits";

const step = { sequence_no: 5, type: "model" } as const;
const stepMatch = matchFor("step", step);
const typeMatch = matchFor("type", step);

test("removing an edit removes its entry", () => {
  const draft = setField(
    setField(emptyDraft, typeMatch, "model", "temperature", 0),
    typeMatch,
    "prompt",
    "system",
    "Be brief.",
  );
  expect(draft.overrides).toEqual([
    { match: { type: "model" }, model: { temperature: 0 }, prompt: { system: "Be brief." } },
  ]);
  const back = setField(
    setField(draft, typeMatch, "model", "temperature", undefined),
    typeMatch,
    "prompt",
    "system",
    undefined,
  );
  expect(back.overrides).toEqual([]);
});

test("treats zero, empty and null as values", () => {
  const draft = setPart(setField(emptyDraft, stepMatch, "prompt", "system", ""), stepMatch, "output", null);
  expect(draft.overrides).toEqual([{ match: { step: 5 }, prompt: { system: "" }, output: null }]);
});

test("keeps step and type edits apart", () => {
  const draft = setField(setField(emptyDraft, stepMatch, "model", "model", "m1"), typeMatch, "model", "model", "m2");
  expect(draft.overrides.map(describeMatch)).toEqual(["step 5", "every model step"]);
  expect(removeEntry(draft, 0).overrides.map(describeSettings)).toEqual(["m2"]);
});
