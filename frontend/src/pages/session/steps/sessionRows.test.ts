import { describe, expect, it } from "vitest";
import type { StepSummary } from "@/api/schema";
import { sessionRows } from "./sessionRows";

function step(sequence_no: number, name = `step ${sequence_no}`, source_step: string | null = null): StepSummary {
  return {
    id: `id-${sequence_no}-${name}`,
    sequence_no,
    parent: null,
    type: "tool",
    name,
    summary: "",
    status: "ok",
    label: "exact",
    reason: "source_output_reused",
    offset_ms: null,
    duration_ms: null,
    provider: "",
    model: "",
    tool_name: name,
    tokens_in: null,
    tokens_out: null,
    cost_usd: null,
    retries: 0,
    source_step,
  };
}

const source = [1, 2, 3, 4, 5, 6].map((n) => step(n));
const replaySteps = (...numbers: number[]) => numbers.map((n) => step(n, `step ${n}`, `id-${n}-step ${n}`));
const shape = (rows: ReturnType<typeof sessionRows>) =>
  rows.map((row) => {
    if (row.kind === "inherited") return `inherited ${row.count}`;
    return row.kind === "done" || row.kind === "expected"
      ? `${row.kind} ${row.step.sequence_no}`
      : `${row.kind} ${row.sequenceNo}`;
  });

describe("sessionRows", () => {
  const base = { forkAt: 3, source, unusedNumbers: [], showInherited: false };

  it("lists open steps that end differently", () => {
    const [agent, ...rest] = replaySteps(1, 2, 3);
    if (!agent) throw new Error("there are three steps");
    const resolvedSteps = [{ ...agent, label: "simulated" as const }, ...rest];
    expect(shape(sessionRows({ ...base, resolvedSteps, running: false }))).toEqual([
      "inherited 1",
      "done 1",
      "fork 3",
      "done 3",
    ]);
  });

  it("shows inherited, done, current and expected steps", () => {
    const rows = sessionRows({ ...base, resolvedSteps: replaySteps(1, 2, 3), running: true });
    expect(shape(rows)).toEqual(["inherited 2", "fork 3", "done 3", "current 4", "expected 5", "expected 6"]);
  });

  it("expects no steps after the end", () => {
    const rows = sessionRows({ ...base, resolvedSteps: [1, 2, 3].map((n) => step(n)), running: false });
    expect(shape(rows)).toEqual(["inherited 2", "fork 3", "done 3"]);
  });

  it("continues past the end of the recording", () => {
    const rows = sessionRows({ ...base, resolvedSteps: [...replaySteps(1, 2, 3, 4, 5, 6), step(7)], running: true });
    expect(shape(rows).at(-1)).toBe("current 8");
  });

  it("skips recorded calls that are gone", () => {
    const ahead = [...replaySteps(1, 2), step(3, "answers at once", "id-5-step 5")];
    const rows = sessionRows({ ...base, resolvedSteps: ahead, running: true });
    expect(rows.find((row) => row.kind === "current")).toMatchObject({ sequenceNo: 4, expected: { sequence_no: 6 } });
    const rowsWithoutCall = sessionRows({
      ...base,
      resolvedSteps: replaySteps(1, 2, 3),
      unusedNumbers: [4],
      running: true,
    });
    expect(rowsWithoutCall.find((row) => row.kind === "current")).toMatchObject({
      sequenceNo: 4,
      expected: { sequence_no: 5 },
    });
  });

  it("shows inherited steps on request", () => {
    expect(shape(sessionRows({ ...base, resolvedSteps: [step(1)], running: false, showInherited: true }))).toEqual([
      "done 1",
      "fork 3",
    ]);
    expect(shape(sessionRows({ ...base, forkAt: 1, resolvedSteps: [], running: true }))[0]).toBe("fork 1");
  });
});
