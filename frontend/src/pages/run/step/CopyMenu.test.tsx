import { fireEvent, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { snippetsQuery } from "@/api/runs/runs";
import { aStepDetail } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { CopyMenu } from "./CopyMenu";

const snippets = { curl: "curl https://api.test", python: "import json", problem: "" };
const modelStep = aStepDetail({
  sequence_no: 3,
  type: "model",
  input: { messages: [{ role: "user", content: "Hi" }] },
});

function items(): (string | null)[] {
  fireEvent.click(screen.getByRole("button", { name: "Copy" }));
  return screen
    .getAllByRole("menuitem", { hidden: true })
    .filter((item) => !item.hasAttribute("disabled"))
    .map(({ textContent }) => textContent);
}

test("offers the request of a model step", () => {
  renderInApp(<CopyMenu step={modelStep} withSnippets />, [[snippetsQuery(modelStep.id).queryKey, snippets]]);
  expect(items()).toEqual(["Link", "JSON", "Messages as JSON", "Request as curl", "Request as Python"]);
});

test("states why there is no request", () => {
  const problem = "Configure the provider “bedrock” to copy its requests.";
  const cached = { curl: null, python: null, problem };
  renderInApp(<CopyMenu step={modelStep} withSnippets />, [[snippetsQuery(modelStep.id).queryKey, cached]]);
  expect(items()).toEqual(["Link", "JSON", "Messages as JSON"]);
  expect(screen.getByText(problem)).toBeTruthy();
});

test("offers the call of a tool step, and no call on shared pages", () => {
  const step = aStepDetail({ sequence_no: 4, type: "tool", input: { order_id: "A-1" } });
  const { unmount } = renderInApp(<CopyMenu step={step} withSnippets />, [
    [snippetsQuery(step.id).queryKey, { ...snippets, curl: null }],
  ]);
  expect(items()).toEqual(["Link", "JSON", "Call as Python"]);
  unmount();
  renderInApp(<CopyMenu step={step} withSnippets={false} />);
  expect(items()).toEqual(["Link", "JSON"]);
});
