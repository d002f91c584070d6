import { expect, test } from "vitest";
import type { AtomEvidence, Findings, ProbeEvidence } from "@/api/schema";
import { dotsLabel, outcomeNames, testRows } from "./dots";

const NAMES = { base: "recorded answer", candidate: "new answer" };

function atom(id: string, more: Partial<AtomEvidence> = {}): AtomEvidence {
  return { id, parent: null, testable: true, title: `Adding ${id}`, ...more } as AtomEvidence;
}

function probe(side: "base" | "candidate", changes: string[], outcomes: ProbeEvidence["outcomes"]): ProbeEvidence {
  return {
    side,
    applied: changes,
    clamped: null,
    outcome: outcomes.at(-1),
    outcomes,
    repeats: outcomes.length,
  } as ProbeEvidence;
}

function findings(atoms: AtomEvidence[], probes: ProbeEvidence[], primary: string[][] = []): Findings {
  return { atoms, probes, primary, question: { kind: "answer" } } as unknown as Findings;
}

test("one change has four rows, with a dot for each replay", () => {
  const rows = testRows(
    findings(
      [atom("a"), atom("part", { parent: "a" })],
      [
        probe("base", [], ["base", "base", "candidate"]),
        probe("candidate", ["a"], ["candidate"]),
        probe("base", ["a"], ["candidate"]),
        probe("base", ["a"], ["other"]),
        probe("candidate", [], ["needs_live"]),
        probe("base", ["part"], ["base"]),
        { ...probe("candidate", ["a"], ["base"]), clamped: 7 },
      ],
    ),
    NAMES,
  );
  expect(rows).toEqual([
    { title: "Only this change applied", dots: ["candidate", "other"], words: "new answer, 1 of 2" },
    { title: "Only this change removed", dots: ["none"], words: "could not run" },
    { title: "Base unchanged", dots: ["base", "base", "candidate"], words: "recorded answer, 2 of 3" },
    { title: "Candidate unchanged", dots: ["candidate"], words: "new answer, 1 of 1" },
  ]);
});

test("of several changes, the causes come first and are named", () => {
  const rows = testRows(
    findings(
      [atom("a"), atom("b")],
      [probe("base", ["b"], ["candidate"]), probe("candidate", ["a"], ["candidate"]), probe("base", ["a"], ["base"])],
      [["b"]],
    ),
    NAMES,
  );
  expect(rows.map(({ title, words }) => `${title}: ${words}`)).toEqual([
    "Only adding b applied: new answer, 1 of 1",
    "Only adding b removed: never the recorded answer",
    "Only adding a applied: never the new answer",
  ]);
});

test("evidence without the outcome of each repeat shows one dot", () => {
  const probeAlone = { ...probe("base", ["a"], []), outcome: "candidate" as const, repeats: 5 };
  expect(testRows(findings([atom("a")], [probeAlone]), NAMES)[0]?.dots).toEqual(["candidate"]);
});

test("names the outcomes by the question", () => {
  const question = (kind: string) => ({ question: { kind } }) as unknown as Findings;
  expect(outcomeNames(question("answer"), true).candidate).toBe("new answer");
  expect(outcomeNames(question("outcome"), false).base).toBe("base's outcome");
  expect(dotsLabel(["base", "base", "none"], NAMES)).toBe("2 recorded answer, 1 did not run");
});
