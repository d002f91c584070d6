import { describe, expect, it } from "vitest";
import { checksOf, checksProblem } from "./draft";

describe("checks", () => {
  it("are converted to requests, without empty ones", () => {
    expect(
      checksOf([
        { kind: "contains", text: "42 EUR" },
        { kind: "regex", text: "" },
        { kind: "tool_not_called", text: " refund_* " },
        { kind: "status", text: "completed" },
        { kind: "json_schema", text: '{"type": "object"}' },
      ]),
    ).toEqual([
      { kind: "contains", text: "42 EUR" },
      { kind: "tool_not_called", tool: "refund_*" },
      { kind: "status", status: "completed" },
      { kind: "json_schema", document: { type: "object" } },
    ]);
  });

  it("may stand in for a judgement by its name", () => {
    expect(checksOf([{ kind: "contains", text: "42 EUR", name: " reward " }])).toEqual([
      { kind: "contains", text: "42 EUR", name: "reward" },
    ]);
  });

  it("reject an invalid schema", () => {
    expect(checksProblem([{ kind: "json_schema", text: "[1]" }])).toMatch(/JSON object/);
    expect(checksProblem([{ kind: "json_schema", text: "{}" }])).toBeNull();
  });
});
