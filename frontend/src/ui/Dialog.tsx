import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState, type ReactElement } from "react";

/** A dialog that exists only while it is open. Closing it returns the focus to what opened it. */
export function Dialog(props: Omit<ModalProps, "opened">): ReactElement {
  useFocusReturn();
  return <Modal opened closeButtonProps={{ "aria-label": "Close" }} {...props} />;
}

/** Mantine returns the focus only of a dialog that goes on existing while it is closed. */
function useFocusReturn(): void {
  const [origin] = useState(focusOrigin);
  useEffect(
    () => () =>
      // After the removal, and unless something else took the focus.
      void window.setTimeout(() => {
        if (document.activeElement === document.body) origin?.focus({ preventScroll: true });
      }),
    [origin],
  );
}

/** The focused control. An entry of a menu disappears with it, so its menu's button takes its place. */
function focusOrigin(): HTMLElement | null {
  const active = document.activeElement;
  const menu = active?.closest("[role=menu]");
  const origin = menu ? document.querySelector(`[aria-controls="${CSS.escape(menu.id)}"]`) : active;
  return origin instanceof HTMLElement ? origin : null;
}
