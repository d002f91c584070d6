import { expect, test } from "vitest";
import { parseModelName } from "./modelName";

test("parses a model with and without provider", () => {
  expect(parseModelName("local: small")).toEqual({ provider: "local", model: "small" });
  expect(parseModelName("vendor/name:8b")).toEqual({ provider: null, model: "vendor/name:8b" });
});
