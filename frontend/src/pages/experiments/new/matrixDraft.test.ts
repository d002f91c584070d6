import { describe, expect, it } from "vitest";
import { firstDraft, valueDraft, rowCount, toExperiment, draftProblem, type MatrixDraft } from "./matrixDraft";

const base = { overrides: [], policy: {} };
const draft: MatrixDraft = {
  ...firstDraft(["local: small", "local: large"]),
  axes: [
    { kind: "model", values: [valueDraft("local: small"), valueDraft("as recorded")] },
    { kind: "temperature", values: [valueDraft("0")] },
    { kind: "prompt", values: [valueDraft("as recorded"), { name: "told", text: "Be brief." }] },
  ],
  samples: 3,
};

describe("the matrix of an experiment", () => {
  it("becomes overrides of every model step", () => {
    const { axes } = toExperiment("r", 4, base, draft) as { axes: { values: { overrides: unknown[] }[] }[] };
    expect(axes.map(({ values }) => values.map(({ overrides }) => overrides))).toEqual([
      [[{ match: { type: "model" }, model: { provider: "local", model: "small" } }], []],
      [[{ match: { type: "model" }, model: { temperature: 0 } }]],
      [[], [{ match: { type: "model" }, prompt: { system: "Be brief." } }]],
    ]);
  });

  it("always calls the model again", () => {
    const request = toExperiment("r", 4, { overrides: [], policy: { order: "reuse", strict: true } }, draft);
    expect(request.policy).toEqual({ order: "reexecute", strict: true });
  });

  it("starts the agent for every row if asked to", () => {
    expect(toExperiment("r", 4, base, draft).engine).toBe("follow");
    expect(toExperiment("r", 4, base, { ...draft, engine: "agent" }).engine).toBe("agent");
  });

  it("has a row for every combination and sample", () => expect(rowCount(draft)).toBe(12));

  it("omits empty checks", () => {
    const checks = [
      { kind: "contains" as const, text: " " },
      { kind: "json_schema" as const, text: '{"type":"object"}' },
    ];
    expect(toExperiment("r", 4, base, { ...draft, checks }).checks).toEqual([
      { kind: "json_schema", document: { type: "object" } },
    ]);
  });

  it.each([
    [{ axes: [{ kind: "temperature" as const, values: [valueDraft("hot")] }] }, /temperature/],
    [{ axes: [{ kind: "prompt" as const, values: [{ name: " ", text: "x" }] }] }, /name/],
    [{ axes: [{ kind: "overrides" as const, values: [{ name: "v", text: "[{}]" }] }] }, /match/],
    [{ checks: [{ kind: "json_schema" as const, text: "[" }] }, /JSON object/],
  ])("names what is incomplete", (change, words) => expect(draftProblem({ ...draft, ...change })).toMatch(words));
});
