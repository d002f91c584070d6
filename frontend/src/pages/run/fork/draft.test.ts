import { expect, test } from "vitest";
import {
  deleteMessage,
  editMessage,
  emptyDraft,
  entryOf,
  matchFor,
  parseOverrides,
  removeEntry,
  setField,
  setPart,
  toRequest,
} from "./draft";
import { matchWords, setWords } from "./words";

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
  expect(draft.overrides.map(matchWords)).toEqual(["step 5", "every model step"]);
  expect(removeEntry(draft, 0).overrides.map(setWords)).toEqual(["m2"]);
});

test("a message has one edit at most", () => {
  const draft = deleteMessage(editMessage(editMessage(emptyDraft, one, 2, "a"), one, 2, "b"), one, 1);
  expect(draft.overrides[0]?.messages).toEqual([
    { op: "delete", index: 1 },
    { op: "replace", index: 2, content: "b" },
  ]);
  expect(editMessage(editMessage(emptyDraft, one, 2, "a"), one, 2, undefined).overrides).toEqual([]);
});

test("typed overrides are taken as list or document, else refused with the place", () => {
  expect(parseOverrides('[{"match": {"step": 1}, "output": "x"}]')).toEqual({
    overrides: [{ match: { step: 1 }, output: "x" }],
  });
  expect(parseOverrides('{"overrides": [{"match": {"step": 1}}, {"tool": 1}]}')).toEqual({
    error: 'Entry 2 has no "match".',
  });
  expect(parseOverrides("[")).toHaveProperty("error");
});

test("a refusal finds its entry", () => {
  expect([
    entryOf("/overrides/2/model"),
    entryOf("/overrides/overrides/0/tool/output"),
    entryOf("/policy/strict"),
  ]).toEqual([2, 0, null]);
});

test("a request says only what was changed", () => {
  expect(toRequest("run-1", 5, { overrides: [], policy: { strict: true } })).toEqual({
    run: "run-1",
    fork_step: 5,
    overrides: { overrides: [] },
    policy: { strict: true },
  });
});
