import { expect, test } from "vitest";
import { aRun } from "@/testing/factories";
import { demoTour } from "./tour";

const failed = aRun({ id: "bad", environment: "demo", status: "failed" });
const fork = aRun({ id: "mended", environment: "demo", source: "replay", source_run: "bad", fork_sequence_no: 5 });

test("pairs the failed run with its first fork", () => {
  const later = aRun({ ...fork, id: "own", status: "failed" });
  expect(demoTour([later, fork, failed])).toEqual({ failed, fork });
});

test("shows no tour without the whole demo", () => {
  expect(demoTour([aRun({ status: "failed" })])).toBeNull();
  expect(demoTour([failed])).toBeNull();
});
