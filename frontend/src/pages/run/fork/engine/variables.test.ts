import { expect, test } from "vitest";
import type { RunnerView } from "@/api/schema";
import { valuesOf, variableNames } from "./variables";

test("offers what any runner allows, once", () => {
  const runners = [["REGION", "CITY"], ["CITY"], []].map((env_allow) => ({ env_allow }) as unknown as RunnerView);
  expect(variableNames(runners)).toEqual(["CITY", "REGION"]);
});

test("sends no empty fields", () => {
  expect(valuesOf({ CITY: "Oslo", REGION: "" })).toEqual({ CITY: "Oslo" });
});
