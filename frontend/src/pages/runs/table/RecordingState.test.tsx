import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { aRun } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { RecordingState } from "./RecordingState";

test("a recording with a problem shows it", () => {
  renderInApp(<RecordingState run={aRun({ problem: "two different events with number 4" })} />);
  expect(screen.getByTitle("two different events with number 4").textContent).toContain("problem");
});

test("a recording without a problem is only recorded", () => {
  renderInApp(<RecordingState run={aRun()} />);
  expect(screen.getByText(/recorded/).textContent).not.toContain("problem");
});
