import { expect, test } from "vitest";
import type { CitationView, RefusedRun } from "@/api/schema";
import { canOverride, citationPage, citationWords, consequences, refusalWords } from "./refusals";

const cite = (kind: string): CitationView => ({ kind, id: "c", name: "" });
const refuse = (...kinds: string[]): RefusedRun => ({
  id: "r",
  detail: "run r is under legal hold",
  citations: kinds.map(cite),
});

test("names what cites a run", () => {
  expect(citationWords([])).toBe("");
  expect(citationWords([cite("fork")])).toBe("1 fork");
  expect(citationWords(["fork", "fork", "diff report", "proof"].map(cite))).toBe("2 forks, 1 diff report and 1 proof");
  expect(refusalWords(refuse("fork"))).toBe("Cited by 1 fork.");
});

test("only citations can be overridden", () => {
  expect(canOverride(refuse("fork", "proof"))).toBe(true);
  expect(canOverride(refuse("fork", "replay in progress"))).toBe(false);
  expect(canOverride(refuse())).toBe(false);
  expect(refusalWords(refuse("replay in progress"))).toBe("Still in use.");
  expect(refusalWords(refuse())).toBe("Run r is under legal hold.");
});

test("links to what cites a run", () => {
  const pages = ["fork", "shared diff report", "bisection in progress", "replay in progress", "proof"].map((kind) =>
    citationPage(cite(kind)),
  );
  expect(pages).toEqual(["run", "diff", "bisection", "replay", null]);
});

test("explains what remains", () => {
  expect(consequences([cite("fork"), cite("shared diff report")])).toEqual([
    "Forks stay, but lose every payload that they share with the run.",
    "Diff reports keep their scores and lose their content.",
  ]);
});
