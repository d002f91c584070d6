import { expect, test } from "vitest";
import type { PlaceKindView, PlaceView } from "@/api/schema";
import { firstSteps, needsPlaces, kindChoices, measurementWords, placesOfKind, precision, runWords } from "./wording";

const kind: PlaceKindView = { kind: "loop", title: "Loops", places: 2, measured: [], seen: [] };
const figures = { source: "a benchmark", places: 4, exact: 2, near: 3, low: 0.301, high: 0.954 };

test("marks kinds without measurements", () => {
  expect(precision(kind)).toBe("not measured");
  expect(precision({ ...kind, kind: "judgement" })).toBe("");
  expect(measurementWords(kind)).toBe("Not measured on labelled failures.");
});

test("shows counts and interval", () => {
  const measuredKind = { ...kind, measured: [figures] };
  expect(precision(measuredKind)).toBe("right in 3 of 4");
  expect(measurementWords(measuredKind)).toContain("3 of 4 places");
  expect(measurementWords(measuredKind)).toContain("30 % to 95 %");
});

test("only failed runs get the panel", () => {
  expect(needsPlaces({ outcome: "failed", status: "completed", sealed: true })).toBe(true);
  expect(needsPlaces({ outcome: "unknown", status: "failed", sealed: true })).toBe(true);
  expect(needsPlaces({ outcome: "passed", status: "completed", sealed: true })).toBe(false);
  expect(needsPlaces({ outcome: "failed", status: "failed", sealed: false })).toBe(false);
});

test("filters places by kind", () => {
  const place = { step: 1, path: "", title: "", text: "", related: [] };
  const places: PlaceView[] = [
    { ...place, kind: "loop" },
    { ...place, kind: "judgement" },
  ];
  expect(placesOfKind(places, null)).toHaveLength(2);
  expect(placesOfKind(places, "loop").map((item) => item.kind)).toEqual(["loop"]);
  expect(kindChoices([kind])).toEqual([{ value: "loop", label: "Loops (2)" }]);
});

test("the folded panel names the first steps, each once", () => {
  const place = (step: number | null, title: string) => ({ step, title }) as PlaceView;
  const places = [
    place(null, "run"),
    place(8, "refused"),
    place(8, "again"),
    place(2, "b"),
    place(3, "c"),
    place(4, "d"),
  ];
  expect(firstSteps(places).map(({ step, title }) => `${step} ${title}`)).toEqual(["8 refused", "2 b", "3 c"]);
});

test("the folded panel says that no step stands out, and names the judgements", () => {
  const place = (title: string) => ({ step: null, title }) as PlaceView;
  expect(runWords([])).toBe("no step stands out");
  expect(runWords([place("reward (import): 0")])).toBe("no step stands out · reward (import): 0");
});
