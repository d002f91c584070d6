import { act, fireEvent, screen } from "@testing-library/react";
import { useRef, useState, type ReactElement } from "react";
import { beforeEach, expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import { useFirstFieldFocus } from "./useFirstFieldFocus";

function Panel(): ReactElement {
  const [isReady, setReady] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  useFirstFieldFocus(element, isReady);
  return (
    <>
      <button>Load profile</button>
      <div data-testid="response" onClick={() => setReady(true)} />
      <div ref={element}>{isReady && <textarea aria-label="Output" />}</div>
    </>
  );
}

const receiveStep = () => fireEvent.click(screen.getByTestId("response"));

beforeEach(() => {
  renderInApp(<Panel />);
});

test("field gets focus once it is there", () => {
  receiveStep();
  expect(document.activeElement).toBe(screen.getByLabelText("Output"));
});

test("a user who has moved the focus keeps it", () => {
  const button = screen.getByText("Load profile");
  act(() => button.focus());
  receiveStep();
  expect(document.activeElement).toBe(button);
});
