import { cleanup, fireEvent, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { StepSummary, TranscriptStep } from "@/api/schema";
import { aStep, aTurn, turnsOf } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import type { RowPart } from "./rows";
import { TranscriptRow } from "./TranscriptRow";

const whole = (text: string) => ({ text, length: text.length });

function show(step: StepSummary, turns: TranscriptStep | undefined, part: RowPart = "step") {
  const onSelect = vi.fn();
  renderInApp(
    <TranscriptRow
      run="r"
      row={{ key: "k", step, part }}
      turns={turns}
      position={1}
      total={1}
      isSelected={false}
      forkHere={false}
      action={null}
      plan={null}
      onSelect={onSelect}
    />,
  );
  return onSelect;
}

test("shows new messages above the answer, each a link to the step", () => {
  const onSelect = show(
    aStep({ sequence_no: 3, name: "gpt" }),
    turnsOf({
      sequence_no: 3,
      incoming: [aTurn({ role: "user", text: whole("Where is it?") })],
      content: aTurn({ role: "assistant", calls: [{ id: "c", name: "find", arguments: whole('{"id":7}') }] }),
    }),
  );
  expect(screen.getByText("find(id: 7)")).toBeTruthy();
  fireEvent.click(screen.getByText("Where is it?"));
  expect(onSelect).toHaveBeenCalledWith(3);
  expect(screen.getByRole("link", { name: "Step 3" }).getAttribute("href")).toBe("?step=3");
});

test("folds the result of a tool into one line", () => {
  const onSelect = show(
    aStep({ sequence_no: 4, type: "tool", name: "find", summary: "find(7)" }),
    turnsOf({ sequence_no: 4, content: aTurn({ text: whole('{"shelf": "B2"}'), is_json: true }) }),
  );
  const fold = screen.getByRole("button", { expanded: false });
  expect(fold.textContent).toBe('{"shelf": "B2"}');
  fireEvent.click(fold);
  expect(screen.getByText("shelf")).toBeTruthy();
  expect(onSelect).not.toHaveBeenCalled();
});

test("shows an answer that is JSON with its line breaks, unless the user prefers it as recorded", () => {
  const answer = turnsOf({ sequence_no: 4, content: aTurn({ role: "assistant", text: whole('{"say": "a\\nb"}') }) });
  show(aStep({ sequence_no: 4 }), answer);
  expect(screen.getByText(/^"?a\nb"?$/, { normalizer: String })).toBeTruthy();
  cleanup();
  localStorage.setItem("raw-text", "true");
  show(aStep({ sequence_no: 4 }), answer);
  expect(screen.getByText('{"say": "a\\nb"}')).toBeTruthy();
  localStorage.clear();
});

test("states what was not recorded, is lost, or goes on", () => {
  show(aStep({ sequence_no: 5 }), turnsOf({ sequence_no: 5, content: null }));
  expect(screen.getByText("No output was recorded.")).toBeTruthy();
  show(
    aStep({ sequence_no: 6 }),
    turnsOf({ sequence_no: 6, content: null, losses: [{ field: "output", loss: "missing", digest: "ab12" }] }),
  );
  expect(screen.getByText("The output is unavailable. Artifact ab12 is missing.")).toBeTruthy();
  show(
    aStep({ sequence_no: 7 }),
    turnsOf({ sequence_no: 7, content: aTurn({ text: { text: "word", length: 5_000 } }), more_incoming: 12 }),
  );
  expect(screen.getByText("Show all 5,000 characters")).toBeTruthy();
  expect(screen.getByText(/12 more messages/)).toBeTruthy();
});

test("shows an error that repeats the result once", () => {
  show(
    aStep({ sequence_no: 8, type: "tool", name: "find", status: "error" }),
    turnsOf({ sequence_no: 8, content: aTurn({ text: whole("no such book") }), error: whole("no such book") }),
  );
  expect(screen.getAllByText("no such book")).toHaveLength(1);
});

test("shows of a failed check its reason alone", () => {
  show(
    aStep({ sequence_no: 9, type: "validator", name: "fits", status: "error" }),
    turnsOf({
      sequence_no: 9,
      content: aTurn({ text: whole('{"reasons": ["too much"]}'), is_json: true }),
      error: whole("too much"),
    }),
  );
  expect(screen.getByRole("note", { name: "Error of step 9" }).textContent).toBe("too much");
  expect(screen.queryByText(/reasons/)).toBeNull();
});

test("refers to the step whose answer the output repeats", () => {
  show(
    aStep({ sequence_no: 9, type: "output", name: "output" }),
    turnsOf({ sequence_no: 9, content: aTurn({ text: whole("Done.") }), repeats: 7 }),
  );
  expect(screen.getByText("the answer of step 7")).toBeTruthy();
  expect(screen.queryByText("Done.")).toBeNull();
});

test("shows the summary until the texts have loaded", () => {
  show(aStep({ sequence_no: 10, summary: "It is on its way." }), undefined);
  expect(screen.getByText("It is on its way.")).toBeTruthy();
});
