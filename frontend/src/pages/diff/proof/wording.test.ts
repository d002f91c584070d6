import { describe, expect, it } from "vitest";
import type { AtomEvidence, Evidence, Findings, NoiseGate, ProbeEvidence, ProofProgress } from "@/api/schema";
import {
  chanceSentence,
  sufficientAnswer,
  atomTree,
  necessaryAnswer,
  costSentence,
  experimentCost,
  probeWords,
  progressWords,
  strongestEvidence,
  interactionWords,
  verdictOf,
} from "./wording";
import { toDecidingProof } from "./draft";

const atom = (fields: Partial<AtomEvidence>) =>
  ({ id: "a", parent: null, certificate: null, sufficient: null, necessary: null, ...fields }) as AtomEvidence;

describe("progress of a proof", () => {
  it("counts repeats like its price", () => {
    const progress = { probes: 3, expected: 4, repeats: 24, live_calls: 74 } as ProofProgress;
    expect(progressWords(progress)).toBe("27 replays so far · 74 live calls");
  });
});

describe("test results of a change", () => {
  it("are yes or no after a replay", () => {
    expect(sufficientAnswer(atom({ sufficient: true }))).toEqual({ words: "yes", sign: "yes" });
    expect(necessaryAnswer(atom({ necessary: false }))).toEqual({ words: "no", sign: "no" });
  });

  it("use a certificate only for necessity", () => {
    const inertAtom = atom({ certificate: { kind: "inert", reason: "the same output" } });
    expect([necessaryAnswer(inertAtom).sign, sufficientAnswer(inertAtom).sign]).toEqual(["no", "unknown"]);
  });

  it("are unknown without a test", () => {
    expect(sufficientAnswer(atom({}))).toEqual({ words: "not tested", sign: "unknown" });
  });
});

describe("descriptions of probes", () => {
  const probe = (fields: Partial<ProbeEvidence>) =>
    ({
      side: "candidate",
      applied: ["a", "b"],
      clamped: null,
      repeats: 1,
      purpose: "apply",
      ...fields,
    }) as ProbeEvidence;
  const words = (fields: Partial<ProbeEvidence>) =>
    probeWords(probe(fields), new Map([["a", "Change a"]]), new Set(["a", "b"]));

  it("name the side, changes and clamped step", () => {
    expect(words({ purpose: "repeat", repeats: 5 })).toBe("The candidate again, unchanged, 5 times");
    expect(words({ purpose: "repeat", repeats: 5, side: "base", applied: [] })).toBe(
      "The base again, unchanged, 5 times",
    );
    expect(words({ purpose: "repeat", repeats: 5, side: "base", applied: ["a"] })).toBe(
      "The base with only: Change a, 5 times",
    );
    expect(words({ applied: [] })).toBe("The candidate with none of the changes");
    expect(words({ clamped: 7 })).toBe("The candidate, with the base's output at step 7");
  });
});

describe("interactions", () => {
  const titles = new Map([
    ["a", "Changing the model"],
    ["b", "Adding a sentence"],
  ]);
  it("compare the joint with the separate effects", () => {
    expect(interactionWords({ one: "a", other: "b", value: 1 }, titles)).toEqual({
      sentence: "Changing the model and adding a sentence: together they do more than the sum of both.",
      figure: "+1",
    });
    expect(interactionWords({ one: "a", other: "?", value: -1 / 6 }, titles)).toEqual({
      sentence: "Changing the model and ?: together they do less than the sum of both.",
      figure: "−0.17",
    });
  });
});

describe("changes", () => {
  it("come before their parts", () => {
    const atoms = [
      atom({ id: "a" }),
      atom({ id: "b" }),
      atom({ id: "a.1", parent: "a" }),
      atom({ id: "x", parent: "?" }),
    ];
    expect(atomTree(atoms).map(({ atom: item, depth }) => `${item.id} ${depth}`)).toEqual([
      "a 0",
      "a.1 1",
      "b 0",
      "x 0",
    ]);
  });
});

describe("evidence", () => {
  const evidence = (id: string, confidence: Findings["confidence"], verdict: Findings["verdict"] = "single") =>
    ({ id, confidence, verdict }) as Evidence;

  it("is ranked by confidence, then newest", () => {
    expect(strongestEvidence([evidence("1", "low"), evidence("2", "high"), evidence("3", "medium")])?.id).toBe("2");
    expect(strongestEvidence([evidence("1", "high"), evidence("2", "high")])?.id).toBe("2");
    expect(strongestEvidence([evidence("1", "medium"), evidence("2", "medium", "inconclusive")])?.id).toBe("1");
    expect(strongestEvidence([])).toBeNull();
  });

  it("qualifies titles of low confidence", () => {
    expect(verdictOf(evidence("1", "high"))).toBe("One change is the cause");
    expect(verdictOf(evidence("1", "low"))).toBe("One change is the cause, as far as tested");
    expect(verdictOf(evidence("1", "low", "inconclusive"))).toBe("Inconclusive");
  });

  it("states its cost", () => {
    const probes = [{ repeats: 5 }, { repeats: 2 }];
    const findings = { probes, replays_cached: 7, replays_live: 0, steps_executed: 12, live_calls: 0, cost_usd: null };
    expect(costSentence(findings as Findings)).toBe(
      "7 replays (7 from the recordings, 0 live), 12 steps run again, 0 live calls, free",
    );
    expect(costSentence({ ...findings, live_calls: 2 } as Findings)).toContain("cost unknown");
    expect(costSentence({ ...findings, replays_cached: 5 } as Findings)).toContain(
      "5 replays (5 from the recordings, 0 live)",
    );
    expect(costSentence({ ...findings, replays_cached: 5 } as Findings)).toContain("; 2 more could not run");
  });

  it("keeps the question in the deciding proof", () => {
    const cheapest = { text: "Repeat.", replays: 10, live_calls: 30, cost_usd: 0.5 };
    expect(experimentCost(cheapest)).toBe("10 replays, 30 live calls, about $0.50.");
    expect(experimentCost({ ...cheapest, live_calls: 0 })).toBe("10 replays, 0 live calls, free.");
    const findings = { question: { kind: "score", text: "", checks: [{ kind: "status" }] } } as unknown as Findings;
    const request = toDecidingProof(findings, cheapest);
    expect([request.question, request.checks]).toEqual(["score", [{ kind: "status" }]]);
    expect(request.budget).toMatchObject({ live_calls: 30, repeats: 10 });
  });

  it("gives chance counts only after repeats", () => {
    const gate = { reason: "not needed", base_n: 0, candidate_n: 0, p: null } as NoiseGate;
    expect(chanceSentence(gate)).toBe("Not needed.");
    const repeatsGate = {
      ...gate,
      reason: "ruled out",
      base_n: 5,
      base_flips: 0,
      candidate_n: 5,
      candidate_flips: 5,
      p: 0.0079,
    };
    expect(chanceSentence(repeatsGate)).toBe(
      "Ruled out. In unchanged repeats, the base matched its recording 5 of 5 times and " +
        "the candidate 0 of 5 times, p = 0.0079.",
    );
  });
});
