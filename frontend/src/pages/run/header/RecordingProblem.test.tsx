import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { aRun } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { RecordingProblem } from "./RecordingProblem";

test("says what of a recording could not be read", () => {
  renderInApp(<RecordingProblem run={aRun({ problem: "its records could not be read" })} />);
  expect(screen.queryByText(/has a problem: its records could not be read/)).not.toBeNull();
});

test("says nothing about a whole recording", () => {
  renderInApp(<RecordingProblem run={aRun()} />);
  expect(screen.queryByText(/has a problem/)).toBeNull();
});
