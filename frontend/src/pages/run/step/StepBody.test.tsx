import { fireEvent, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { aStepDetail } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { StepBody } from "./StepBody";

const history = [
  { role: "system", content: "Be kind." },
  { role: "user", content: "Where is my order?" },
];

test("expands only new messages", () => {
  const step = aStepDetail({
    sequence_no: 7,
    input: { messages: [...history, { role: "tool", content: "shipped", tool_call_id: "c1" }] },
    output: { message: { role: "assistant", content: "It is on its way." } },
    inherited_messages: 2,
  });
  renderInApp(<StepBody step={step} onSelect={vi.fn()} />);
  expect(screen.queryByText("Where is my order?")).toBeNull();
  expect(screen.getByText("shipped")).toBeTruthy();
  fireEvent.click(screen.getByText(/2 earlier messages/));
  expect(screen.getByText("Where is my order?")).toBeTruthy();
});

test("links a tool message to its step", () => {
  const select = vi.fn();
  const step = aStepDetail({
    sequence_no: 7,
    input: { messages: [{ role: "tool", content: "shipped", tool_call_id: "c1" }] },
    consumed: [
      {
        step: 6,
        step_id: "step-6",
        type: "tool",
        name: "get_order",
        kind: "tool_call_id",
        evidence: "call c1",
        consumer_path: "/messages/0/content",
        producer_path: "",
      },
    ],
  });
  renderInApp(<StepBody step={step} onSelect={select} />);
  fireEvent.click(screen.getByText(/from step 6/));
  expect(select).toHaveBeenCalledWith(6);
});

test("collapses long text and escapes markup", () => {
  const text = `<img src=x onerror=alert(1)> ${"word ".repeat(3000)}`;
  renderInApp(<StepBody step={aStepDetail({ sequence_no: 2, type: "output", output: text })} onSelect={vi.fn()} />);
  expect(document.querySelector("img")).toBeNull();
  expect(screen.getByText(/more characters/)).toBeTruthy();
});

test("lists documents with rank and score", () => {
  const documents = [
    { id: "d1", content: "Refunds within 30 days.", score: 0.91 },
    { id: "d2", content: "Shipping takes 3 days.", score: 0.5 },
  ];
  renderInApp(
    <StepBody
      step={aStepDetail({ sequence_no: 2, type: "retrieval", input: { query: "refund" }, output: { documents } })}
      onSelect={vi.fn()}
    />,
  );
  expect(screen.getAllByRole("row").map((row) => row.textContent)).toEqual([
    "RankDocumentScore",
    expect.stringMatching(/^1d1.*Refunds.*0.910$/),
    expect.stringMatching(/^2d2.*Shipping.*0.500$/),
  ]);
});

test("reports content that was not recorded", () => {
  renderInApp(
    <StepBody
      step={aStepDetail({ sequence_no: 2, type: "tool", input: { id: 1 }, output: null })}
      onSelect={vi.fn()}
    />,
  );
  expect(screen.getByText("Not recorded.")).toBeTruthy();
});

test("marks a lost message", () => {
  const lostMessage = {
    $unavailable: "ab12",
    role: "unavailable",
    content: "[unavailable: artifact ab12 is missing or damaged]",
  };
  renderInApp(
    <StepBody
      step={aStepDetail({
        sequence_no: 2,
        input: { messages: [{ role: "user", content: "Where is it?" }, lostMessage] },
        output: null,
        lost: [{ field: "output", loss: "missing", digest: "cd34" }],
      })}
      onSelect={vi.fn()}
    />,
  );
  expect(screen.getByText("Where is it?")).toBeTruthy();
  expect(screen.getByText(/artifact ab12 is missing/)).toBeTruthy();
  expect(screen.getByText("Unavailable.")).toBeTruthy();
});

test("renders the Markdown of answers, and shows other texts as they were recorded", async () => {
  const answer = aStepDetail({ sequence_no: 3, type: "output", output: "Order **#W6750959** is *late*." });
  renderInApp(<StepBody step={answer} onSelect={vi.fn()} />);
  expect((await screen.findByText("#W6750959")).tagName).toBe("STRONG");
  const request = {
    messages: [
      { role: "system", content: "Never **guess**." },
      { role: "user", content: "Where is **it**?" },
    ],
  };
  const call = aStepDetail({ sequence_no: 4, type: "model", input: request, output: null });
  renderInApp(<StepBody step={call} onSelect={vi.fn()} />);
  expect((await screen.findByText("it")).tagName).toBe("STRONG");
  expect(screen.getByText("Never **guess**.")).toBeTruthy();
});
