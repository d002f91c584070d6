import { expect, test } from "vitest";
import {
  deleteMessage,
  editMessage,
  draftOf,
  emptyDraft,
  entryOf,
  insertedAt,
  insertMessages,
  matchFor,
  parseOverrides,
  removeEntry,
  setField,
  setPart,
  toRequest,
} from "./draft";
import type { Policy } from "@/api/schema";
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

test("messages are put in beside the edit of the message after them", () => {
  const reworded = editMessage(emptyDraft, one, 2, "Shorter");
  const added = insertMessages(reworded, one, 2, [{ text: "By the way", role: "user" }]);
  expect(added.overrides[0]?.messages).toHaveLength(2);
  expect(insertedAt(added.overrides[0]?.messages, 2)).toEqual([{ text: "By the way", role: "user" }]);
  expect(insertMessages(added, one, 2, [])).toEqual(reworded);
});

test("each message edit is a phrase of its chip", () => {
  const edited = insertMessages(deleteMessage(emptyDraft, one, 3), one, 5, [{ text: "Hi", role: "system" }]);
  expect(edited.overrides.map(setWords)).toEqual(["message 4 left out, new system message: “Hi”"]);
});

test("what a replay had changed comes back without the fields that it left as recorded", () => {
  const entry = {
    prompt: null,
    messages: null,
    model: null,
    retrieval: null,
    arguments: null,
    tool: null,
    output: null,
  };
  const every = { step: null, type: "model" as const, name: null, model: null, since: null, before: null };
  const prompt = { system: "Be brief.", template: null, template_id: null, version: null, variables: null };
  const call = { role: "assistant", content: null, tool_calls: [{ id: "c1", name: "pay", arguments: {} }] };
  const edits = [
    { op: "delete" as const, index: 1, role: null, content: null, message: null },
    { op: "insert" as const, index: 2, role: null, content: null, message: call },
  ];
  const tool = { output: { note: null }, status: "ok" as const };
  const policy = { allow: ["model" as const], budget: { max_cost_usd: 1, max_live_calls: null } } as unknown as Policy;
  const draft = draftOf(
    [
      { ...entry, match: every, prompt },
      { ...entry, match: { ...every, type: null, step: 5 }, messages: edits, arguments: { id: null }, tool },
    ],
    policy,
  );
  expect(draft.overrides).toEqual([
    { match: { type: "model" }, prompt: { system: "Be brief." } },
    {
      match: { step: 5 },
      messages: [
        { op: "delete", index: 1 },
        { op: "insert", index: 2, message: call },
      ],
      arguments: { id: null },
      tool,
    },
  ]);
  const [inserted] = insertedAt(draft.overrides[1]?.messages, 2);
  expect(inserted).toEqual({ text: "null", role: "assistant", whole: call });
  const same = insertMessages(draft, { step: 5 }, 2, inserted ? [inserted] : []);
  expect(same.overrides[1]?.messages).toEqual(draft.overrides[1]?.messages);
  expect(draft.policy).toEqual({ allow: ["model"], budget: { max_cost_usd: 1 } });
});
