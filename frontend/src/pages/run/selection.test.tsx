import { render, screen } from "@testing-library/react";
import { act, useRef, useState, type ReactElement, type ReactNode } from "react";
import { expect, test } from "vitest";
import { Selection, useSelectedNumber, type SelectedRef } from "./selection";

test("renders only what shows the selected step when it changes", () => {
  const renderings: string[] = [];
  let select: (number: number) => void = () => undefined;
  let read: () => number | null = () => null;
  function Row(): ReactElement {
    renderings.push("row");
    return <p>Step {useSelectedNumber()}</p>;
  }
  function Panel({ selectedRef }: { selectedRef: SelectedRef }): ReactElement {
    renderings.push("panel");
    read = () => selectedRef.current;
    return <Row />;
  }
  function Page({ selectedRef, children }: { selectedRef: SelectedRef; children: ReactNode }): ReactElement {
    const [number, setNumber] = useState(1);
    select = setNumber;
    return (
      <Selection number={number} selectedRef={selectedRef}>
        {children}
      </Selection>
    );
  }
  function Test(): ReactElement {
    const selectedRef: SelectedRef = useRef(null);
    return (
      <Page selectedRef={selectedRef}>
        <Panel selectedRef={selectedRef} />
      </Page>
    );
  }
  render(<Test />);
  act(() => select(2));
  expect(screen.getByText("Step 2")).toBeTruthy();
  expect(read()).toBe(2);
  expect(renderings).toEqual(["panel", "row", "row"]);
});
