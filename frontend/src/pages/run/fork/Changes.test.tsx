import { fireEvent, screen } from "@testing-library/react";
import { useState } from "react";
import { expect, test } from "vitest";
import { emptyDraft, type Draft } from "@/domain/overrides/draft";
import { renderInApp } from "@/testing/render";
import { Changes } from "./Changes";

const changed: Draft = { ...emptyDraft, overrides: [{ match: { step: 5 }, model: { model: "m2" } }] };

const ignore = () => undefined;

function Panel() {
  const [draft, setDraft] = useState(changed);
  return (
    <>
      <Changes draft={draft} refusals={[]} otherForks={[]} onChange={setDraft} onSelect={ignore} onOpenFork={ignore} />
      <output>{draft.overrides.length}</output>
    </>
  );
}

test("discarded changes can be restored in their place", () => {
  renderInApp(<Panel />);
  fireEvent.click(screen.getByRole("button", { name: "Discard" }));
  expect(screen.getByText("0")).toBeTruthy();
  const undo = screen.getByRole("button", { name: "Undo" });
  expect(document.activeElement).toBe(undo);
  fireEvent.click(undo);
  expect(screen.getByText("1")).toBeTruthy();
  // A change that is removed singly was not discarded.
  fireEvent.click(screen.getByRole("button", { name: /^Remove/ }));
  expect(screen.queryByRole("button", { name: "Undo" })).toBeNull();
});

test("a fork without changes names the forks that have some", () => {
  const opened: number[] = [];
  renderInApp(
    <Changes
      draft={emptyDraft}
      refusals={[]}
      otherForks={[5, 7]}
      onChange={ignore}
      onSelect={ignore}
      onOpenFork={(step) => opened.push(step)}
    />,
  );
  fireEvent.click(screen.getByRole("button", { name: "Fork from step 7" }));
  expect(opened).toEqual([7]);
});
