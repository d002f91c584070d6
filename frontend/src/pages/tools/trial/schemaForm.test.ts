import { expect, test } from "vitest";
import type { JsonValue } from "@/api/schema";
import { fieldsOf, missingFields, readJson, withArgument } from "./schemaForm";

const schema = {
  type: "object",
  properties: {
    order_id: { type: "string", description: "As printed on the parcel." },
    limit: { type: "integer" },
    state: { type: "string", enum: ["new", "lost"] },
    where: { type: "object" },
    exact: { type: "boolean" },
  },
  required: ["order_id"],
};

test("maps schema properties to fields", () => {
  const fields = fieldsOf(schema) ?? [];
  expect(fields.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    "order_id text",
    "limit integer",
    "state choice",
    "where json",
    "exact boolean",
  ]);
  expect(fields[0]).toMatchObject({ isRequired: true, description: "As printed on the parcel." });
  expect(fields[2]?.options).toEqual(["new", "lost"]);
});

test("a schema without properties has no form", () => {
  const schemas: JsonValue[] = [null, "text", [], {}, { properties: null }];
  for (const schema of schemas) expect(fieldsOf(schema)).toBeNull();
});

test("only omitted fields are missing", () => {
  const fields = fieldsOf({ properties: { a: {}, b: {}, c: {} }, required: ["a", "b", "c"] }) ?? [];
  expect(missingFields(fields, { a: 0, b: false })).toEqual(["c"]);
  expect(missingFields(fields, withArgument({ a: 0, b: "" }, "a", undefined))).toEqual(["a", "c"]);
});

test("reports incomplete JSON", () => {
  expect(readJson(" ")).toEqual({ value: undefined });
  expect(readJson('{"a": 1}')).toEqual({ value: { a: 1 } });
  expect(readJson('{"a": ')).toHaveProperty("error");
});
