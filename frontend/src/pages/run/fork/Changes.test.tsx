import { fireEvent, screen } from "@testing-library/react";
import { useState } from "react";
import { expect, test } from "vitest";
import { emptyDraft, type Draft } from "@/domain/overrides/draft";
import { renderInApp } from "@/testing/render";
import { Changes } from "./Changes";

const changed: Draft = { ...emptyDraft, overrides: [{ match: { step: 5 }, model: { model: "m2" } }] };

function Panel() {
  const [draft, setDraft] = useState(changed);
  return (
    <>
      <Changes draft={draft} refusals={[]} onChange={setDraft} onSelect={() => undefined} />
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
