import { fireEvent, screen, waitFor } from "@testing-library/react";
import { useState, type ReactElement } from "react";
import { expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import { Dialog } from "./Dialog";

function Page(): ReactElement {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button onClick={() => setOpen(true)}>Open</button>
      {isOpen && (
        <Dialog title="A dialog" onClose={() => setOpen(false)}>
          <input aria-label="Name" />
        </Dialog>
      )}
    </>
  );
}

test("closing a dialog returns the focus to what opened it", async () => {
  renderInApp(<Page />);
  const button = screen.getByText("Open");
  button.focus();
  fireEvent.click(button);
  (await screen.findByLabelText("Name")).focus();
  fireEvent.click(screen.getByLabelText("Close"));
  await waitFor(() => expect(document.activeElement).toBe(button));
});
