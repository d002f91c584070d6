import { expect, test } from "vitest";
import { parseModelName } from "./modelName";

test("reads a model with and without its provider", () => {
  expect(parseModelName("local: small")).toEqual({ provider: "local", model: "small" });
  expect(parseModelName("vendor/name:8b")).toEqual({ provider: null, model: "vendor/name:8b" });
});
