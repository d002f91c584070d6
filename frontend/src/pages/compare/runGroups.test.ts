import { expect, test } from "vitest";
import { aRun } from "@/testing/factories";
import { groupRuns } from "./runGroups";

const fork = (id: string, source: string, app = "desk") => aRun({ id, app, source_run: source, fork_sequence_no: 5 });
const runs = [
  fork("b2", "b"),
  aRun({ id: "x", app: "shop" }),
  aRun({ id: "c", app: "desk", name: "Another task" }),
  fork("a2", "a1"),
  aRun({ id: "b", app: "desk" }),
  fork("a1", "a"),
  aRun({ id: "a", app: "desk" }),
];
const ids = (groups: ReturnType<typeof groupRuns>) =>
  groups.map(({ title, runs }) => [title, runs.map(({ id }) => id)]);

test("the family of the other side comes first, then its app with the same task first", () => {
  const otherSide = { run: aRun({ id: "a1", app: "desk" }), family: new Set(["a", "a1", "a2"]) };
  expect(ids(groupRuns(runs, otherSide))).toEqual([
    ["Same recorded run and its forks", ["a", "a2"]],
    ["Other runs of desk", ["b", "b2", "c"]],
    ["Other runs", ["x"]],
  ]);
});

test("without another side, runs are listed by app, each with its forks", () => {
  expect(ids(groupRuns(runs, null))).toEqual([
    ["desk", ["b", "b2", "c", "a", "a2", "a1"]],
    ["shop", ["x"]],
  ]);
});
