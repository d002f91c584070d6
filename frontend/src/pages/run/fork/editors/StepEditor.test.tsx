import { fireEvent, screen } from "@testing-library/react";
import { useState, type ReactElement } from "react";
import { expect, test } from "vitest";
import type { Engine, StepDetail } from "@/api/schema";
import { aStepDetail } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { emptyDraft, type Draft } from "@/domain/overrides/draft";
import { StepEditor } from "./StepEditor";

let last: Draft = emptyDraft;

function Desk({ step, engine = "follow" }: { step: StepDetail; engine?: Engine }): ReactElement {
  const [draft, setDraft] = useState(emptyDraft);
  return (
    <StepEditor
      step={step}
      draft={draft}
      engine={engine}
      onChange={(next) => {
        last = next;
        setDraft(next);
      }}
    />
  );
}
const type = (label: string | RegExp, text: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value: text } });

const unfold = (summary: string | RegExp) => fireEvent.click(screen.getByText(summary));

test("a changed tool result becomes an override", () => {
  renderInApp(
    <Desk step={aStepDetail({ sequence_no: 6, type: "tool", tool_name: "get_order", output: { total: 420 } })} />,
  );
  type("Result of get_order", '{"total": 42}');
  expect(last.overrides).toEqual([{ match: { step: 6 }, tool: { output: { total: 42 }, status: "ok" } }]);
  type("Result of get_order", '{"total": ');
  expect(screen.getByText(/^Not applied/)).toBeTruthy();
  expect(last.overrides[0]?.tool?.output).toEqual({ total: 42 });
});

test("retyping recorded arguments removes the override", () => {
  const step = aStepDetail({ sequence_no: 6, type: "tool", tool_name: "get_order", input: { id: 1 }, output: "lost" });
  renderInApp(<Desk step={step} />);
  type("Arguments of get_order", '{"id": 2}');
  expect(last.overrides).toEqual([{ match: { step: 6 }, arguments: { id: 2 } }]);
  type("Arguments of get_order", '{"id": 1}');
  expect(last.overrides).toEqual([]);
});

test("retyping the recorded result removes the override", () => {
  renderInApp(
    <Desk step={aStepDetail({ sequence_no: 6, type: "tool", tool_name: "get_order", output: { total: 420 } })} />,
  );
  type("Result of get_order", '{"total": 1}');
  fireEvent.click(screen.getByText("Undo"));
  expect(last.overrides).toEqual([]);
});

test("edits JSON text indented and keeps it text", () => {
  renderInApp(
    <Desk step={aStepDetail({ sequence_no: 6, type: "tool", tool_name: "get_order", output: '{"total": 420}' })} />,
  );
  const field = screen.getByLabelText<HTMLTextAreaElement>("Result of get_order");
  expect(field.value).toBe('{\n  "total": 420\n}');
  type("Result of get_order", '{\n  "total": 42\n}');
  expect(last.overrides[0]?.tool?.output).toBe('{"total": 42}');
});

const model = aStepDetail({
  sequence_no: 5,
  model: "gpt-4o",
  provider: "openai",
  input: {
    messages: [
      { role: "system", content: "Be kind." },
      { role: "user", content: "Hi" },
    ],
    parameters: { temperature: 0.2 },
  },
  output: { message: { role: "assistant", content: "Hello" } },
});

test("a system prompt applies to all or one step", () => {
  renderInApp(<Desk step={model} />);
  type("System prompt", "Be brief.");
  expect(last.overrides).toEqual([{ match: { type: "model" }, prompt: { system: "Be brief." } }]);
  fireEvent.click(screen.getByLabelText("Only step 5"));
  type("System prompt", "Be very brief.");
  expect(last.overrides.at(-1)).toEqual({ match: { step: 5 }, prompt: { system: "Be very brief." } });
});

test("edits and omits a message", () => {
  renderInApp(<Desk step={model} />);
  unfold(/^Messages of step 5/);
  type("Message 2, user", "Hello there");
  expect(last.overrides).toEqual([
    { match: { step: 5 }, messages: [{ op: "replace", index: 1, content: "Hello there" }] },
  ]);
  fireEvent.click(screen.getByText("omit"));
  expect(last.overrides).toEqual([{ match: { step: 5 }, messages: [{ op: "delete", index: 1 }] }]);
});

test("shows recorded parameters as placeholders", () => {
  renderInApp(<Desk step={model} />);
  expect(screen.getByLabelText("Temperature").getAttribute("placeholder")).toBe("0.2");
});

test("edits tools, response format and parameters", () => {
  const tools = [{ name: "get_order" }, { name: "pay" }];
  const request = { ...(model.input as object), tools, parameters: { temperature: 0.2, tool_choice: "auto" } };
  renderInApp(<Desk step={{ ...model, input: request }} />);
  unfold(/^Tools, response format/);
  fireEvent.click(screen.getByLabelText("pay"));
  expect(screen.getByLabelText<HTMLTextAreaElement>("Tool schemas").value).not.toContain("pay");
  type("Response format", '{"type": "json_object"}');
  type("Other parameters", "{}");
  expect(last.overrides).toEqual([
    {
      match: { type: "model" },
      model: { tools: [{ name: "get_order" }], response_format: { type: "json_object" }, unset: ["tool_choice"] },
    },
  ]);
  type("Tool schemas", "[{}]");
  expect(screen.getByText(/^Not applied: this must be a list of tools/)).toBeTruthy();
});

test("renders rare fields when unfolded or edited", () => {
  renderInApp(<Desk step={model} />);
  const fold = screen.getByText(/^Messages of step 5/).closest("details");
  expect(screen.queryByLabelText("Message 2, user")).toBeNull();
  unfold(/^Messages of step 5/);
  type("Message 2, user", "Hello there");
  type("Message 2, user", "Hi");
  expect(last.overrides).toEqual([]);
  expect(fold?.open).toBe(true);
});

test("a search with other settings says who makes it", () => {
  const step = aStepDetail({
    sequence_no: 2,
    type: "retrieval",
    input: { query: "refunds" },
    output: { documents: [] },
  });
  const { unmount } = renderInApp(<Desk step={step} />);
  type("Query", "returns");
  expect(screen.getByText(/^No search is made/)).toBeTruthy();
  unmount();
  renderInApp(<Desk step={step} engine="agent" />);
  type("Query", "returns");
  expect(screen.getByText(/^The agent searches with these settings/)).toBeTruthy();
});
