import { expect, test } from "vitest";
import { changeWords, forkPlace, fullTitle, runTitle } from "./title";

const change = { text: "+ “Order totals are in cents.”", target: "system prompt", count: 1 };
const fork = { name: "My order A-1042", title: "", change };

test("a run is called by its given name, its change, or its recorded name", () => {
  expect(runTitle({ ...fork, change: null })).toBe("My order A-1042");
  expect(runTitle(fork)).toBe("+ “Order totals are in cents.”");
  expect(runTitle({ ...fork, title: "Cents fix" })).toBe("Cents fix");
});

test("several changes are counted", () => {
  expect(changeWords({ ...change, count: 2 })).toBe("+ “Order totals are in cents.” and 1 more change");
  expect(changeWords({ ...change, count: 4 })).toBe("+ “Order totals are in cents.” and 3 more changes");
});

test("the full title names the source once", () => {
  expect(fullTitle({ ...fork, title: "Cents fix" })).toBe("Cents fix · My order A-1042");
  expect(fullTitle({ ...fork, change: null })).toBe("My order A-1042");
});

test("the place of a fork is its step and what it changes", () => {
  expect(forkPlace(fork, 5)).toBe("from step 5 · system prompt");
  expect(forkPlace({ change: null }, null)).toBe("from step 1");
});
