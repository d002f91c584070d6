import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import { ChecksEditor } from "./ChecksEditor";

test.each([
  ["", 1],
  ["42.00 EUR", 0],
])("says that a check of %j is left out %i times", (text, times) => {
  renderInApp(<ChecksEditor checks={[{ kind: "contains", text }]} onChange={() => undefined} />);
  expect(screen.queryAllByText("A check without a value is left out.")).toHaveLength(times);
});
