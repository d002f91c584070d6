import { expect, test } from "vitest";
import type { Policy } from "@/api/schema";
import { draftOf, entryOf, parseOverrides, toRequest } from "./draft";

test("parses override lists and reports the invalid entry", () => {
  expect(parseOverrides('[{"match": {"step": 1}, "output": "x"}]')).toEqual({
    overrides: [{ match: { step: 1 }, output: "x" }],
  });
  expect(parseOverrides('{"overrides": [{"match": {"step": 1}}, {"tool": 1}]}')).toEqual({
    error: 'Entry 2 has no "match".',
  });
  expect(parseOverrides("[")).toHaveProperty("error");
});

test("maps a refusal to its entry", () => {
  expect([
    entryOf("/overrides/2/model"),
    entryOf("/overrides/overrides/0/tool/output"),
    entryOf("/policy/strict"),
  ]).toEqual([2, 0, null]);
});

test("a request contains only changes", () => {
  expect(toRequest("run-1", 5, { overrides: [], policy: { strict: true } })).toEqual({
    run: "run-1",
    fork_step: 5,
    overrides: { overrides: [] },
    policy: { strict: true },
  });
});

test("drafts omit fields that stay as recorded", () => {
  const entry = {
    prompt: null,
    messages: null,
    model: null,
    retrieval: null,
    arguments: null,
    tool: null,
    output: null,
  };
  const match = { step: null, type: "model" as const, name: null, model: null, since: null, before: null };
  const prompt = { system: "Be brief.", template: null, template_id: null, version: null, variables: null };
  const call = { role: "assistant", content: null, tool_calls: [{ id: "c1", name: "pay", arguments: {} }] };
  const passages = [{ before: "Oslo", after: "Bergen" }];
  const edits = [
    { op: "delete" as const, index: 1, role: null, content: null, message: null, passages: null },
    { op: "insert" as const, index: 2, role: null, content: null, message: call, passages: null },
    { op: "replace" as const, index: 4, role: null, content: null, message: null, passages },
  ];
  const tool = { output: { note: null }, status: "ok" as const };
  const policy = { allow: ["model" as const], budget: { max_cost_usd: 1, max_live_calls: null } } as unknown as Policy;
  const draft = draftOf(
    [
      { ...entry, match, prompt },
      { ...entry, match: { ...match, type: null, step: 5 }, messages: edits, arguments: { id: null }, tool },
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
        { op: "replace", index: 4, passages },
      ],
      arguments: { id: null },
      tool,
    },
  ]);
  expect(draft.policy).toEqual({ allow: ["model"], budget: { max_cost_usd: 1 } });
});
