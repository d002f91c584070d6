import { fireEvent, screen } from "@testing-library/react";
import type { ReactElement } from "react";
import { expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import { JsonField } from "./editors/fields";
import { UnappliedText, useUnappliedFields } from "./unappliedText";

function Panel({ isOpen }: { isOpen: boolean }): ReactElement {
  const { hasUnapplied, report } = useUnappliedFields();
  return (
    <UnappliedText value={report}>
      {isOpen && <JsonField label="Result" recordedValue={{ total: 1 }} value={undefined} onChange={() => undefined} />}
      <output>{hasUnapplied ? "blocked" : "ready"}</output>
    </UnappliedText>
  );
}

test("a fork knows of text that it would ignore, as long as the text is shown", () => {
  const { rerender } = renderInApp(<Panel isOpen />);
  const type = (text: string) => fireEvent.change(screen.getByLabelText("Result"), { target: { value: text } });
  type('{"total": ');
  expect(screen.getByText("blocked")).toBeTruthy();
  type('{"total": 2}');
  expect(screen.getByText("ready")).toBeTruthy();
  type("{");
  rerender(<Panel isOpen={false} />);
  expect(screen.getByText("ready")).toBeTruthy();
});
