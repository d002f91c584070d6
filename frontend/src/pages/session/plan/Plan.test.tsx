import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Override } from "@/api/schema";
import { stepQuery, stepsFromQuery } from "@/api/runs/runs";
import { aSession, aStep, aStepDetail } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { Plan, PlanFacts } from "./Plan";

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

const anyStep = { step: null, type: null, name: null, model: null, since: null, before: null };
const noSettings = { prompt: null, tool: null, arguments: null, output: null };

test("shows the changed place of a tool's answer", () => {
  const session = aSession({
    source_run: "r1",
    overrides: {
      overrides: [
        {
          ...noSettings,
          match: { ...anyStep, step: 6 },
          tool: { status: "ok", output: { id: "A-1", price: 50 } },
        } as unknown as Override,
      ],
    },
  });
  const { container } = renderInApp(<Plan session={session} />, [
    [stepsFromQuery("r1", 6).queryKey, { steps: [aStep({ sequence_no: 6, id: "s6", type: "tool" })], next: null }],
    [stepQuery("s6").queryKey, aStepDetail({ sequence_no: 6, id: "s6", output: { id: "A-1", price: 42 } })],
  ]);
  expect(container.querySelector("ins")?.textContent).toBe("50");
  expect(container.querySelector("del")?.textContent).toBe("42");
});

test("shows the changed place of a search result by its document", () => {
  const policies = [
    { id: "limit", content: "Up to 200 EUR." },
    { id: "warranty", content: "24 months." },
  ];
  const documents = [{ id: "limit", content: "Up to 900 EUR." }, policies[1]];
  const override = { ...noSettings, match: { ...anyStep, step: 2 }, retrieval: { documents } } as unknown as Override;
  const session = aSession({ source_run: "r1", overrides: { overrides: [override] } });
  renderInApp(<Plan session={session} />, [
    [stepsFromQuery("r1", 2).queryKey, { steps: [aStep({ sequence_no: 2, id: "s2", type: "retrieval" })], next: null }],
    [stepQuery("s2").queryKey, aStepDetail({ sequence_no: 2, id: "s2", output: { documents: policies } })],
  ]);
  expect(screen.getByRole("listitem").textContent).toBe("step 2documents limit Up to 200900 EUR.");
});

test("shows the changed place of a long prompt", () => {
  const recordedPrompt = "Keep to the policies. ".repeat(40);
  const session = aSession({
    source_run: "r1",
    fork_sequence_no: 5,
    overrides: {
      overrides: [
        {
          ...noSettings,
          match: { ...anyStep, type: "model" },
          prompt: { system: `${recordedPrompt}Convert cents.` },
        } as Override,
      ],
    },
  });
  const input = { messages: [{ role: "system", content: recordedPrompt }] };
  const { container } = renderInApp(<Plan session={session} />, [
    [stepsFromQuery("r1", 5).queryKey, { steps: [aStep({ sequence_no: 6, id: "s6", type: "model" })], next: null }],
    [stepQuery("s6").queryKey, aStepDetail({ sequence_no: 6, id: "s6", input })],
  ]);
  expect(container.querySelector("ins")?.textContent).toBe("Convert cents.");
  expect(container.querySelector("li")?.textContent).toContain("system prompt … ");
});

test("names the step whose prompt is compared where the override changes several", () => {
  const session = aSession({
    source_run: "r1",
    fork_sequence_no: 5,
    overrides: {
      overrides: [
        {
          ...noSettings,
          match: { ...anyStep, type: "model" },
          prompt: { system: "Be kind. Convert cents." },
        } as Override,
      ],
    },
  });
  const steps = [
    aStep({ sequence_no: 6, id: "s6", type: "model" }),
    aStep({ sequence_no: 8, id: "s8", type: "model" }),
  ];
  const input = { messages: [{ role: "system", content: "Be kind." }] };
  const { container } = renderInApp(<Plan session={session} />, [
    [stepsFromQuery("r1", 5).queryKey, { steps, next: null }],
    [stepQuery("s6").queryKey, aStepDetail({ sequence_no: 6, id: "s6", input })],
  ]);
  expect(container.querySelector("li")?.textContent).toContain("system prompt in step 6, the first of several: ");
});
