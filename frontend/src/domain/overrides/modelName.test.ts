import { expect, test } from "vitest";
import { modelOf } from "./modelName";

test("reads a model with and without its provider", () => {
  expect(modelOf("local: small")).toEqual({ provider: "local", model: "small" });
  expect(modelOf("vendor/name:8b")).toEqual({ provider: null, model: "vendor/name:8b" });
});
