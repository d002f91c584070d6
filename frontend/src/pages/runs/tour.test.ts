import { expect, test } from "vitest";
import { aRun } from "@/testing/factories";
import { demoTour } from "./tour";

const failed = aRun({ id: "bad", environment: "demo", status: "failed" });
const fork = aRun({ id: "mended", environment: "demo", source: "replay", source_run: "bad", fork_sequence_no: 5 });

test("the demo's failed run is shown with its first fork, not with those that the visitor made", () => {
  const later = aRun({ ...fork, id: "own", status: "failed" });
  expect(demoTour([later, fork, failed])).toEqual({ failed, fork });
});

test("without the demo, or with only a part of it on the page, there is nothing to show", () => {
  expect(demoTour([aRun({ status: "failed" })])).toBeNull();
  expect(demoTour([failed])).toBeNull();
});
