import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { aSession, aStep } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { PlanFacts } from "./Plan";

test("shows assumed steps", () => {
  const steps = [
    aStep({ sequence_no: 1, label: "exact", reason: "source_output_reused" }),
    aStep({ sequence_no: 2, label: "simulated", reason: "assumed_unaffected" }),
  ];
  const session = aSession({
    policy: { allow: [], fallback: "simulate" } as unknown as ReturnType<typeof aSession>["policy"],
    determinism: { score: 1, factors: {}, threshold: 0.8, critical_changes: [], other_changes: [] },
  });
  renderInApp(<PlanFacts session={session} steps={steps} />);
  expect(screen.getByText("Assumed unaffected").nextSibling?.textContent).toBe("1 step");
});

test("hides the line without assumed steps", () => {
  const session = aSession({
    policy: { allow: [], fallback: "simulate" } as unknown as ReturnType<typeof aSession>["policy"],
  });
  renderInApp(<PlanFacts session={session} steps={[aStep({ sequence_no: 1, label: "exact" })]} />);
  expect(screen.queryByText("Assumed unaffected")).toBeNull();
});
