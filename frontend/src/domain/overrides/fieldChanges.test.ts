import { expect, test } from "vitest";
import { fieldChanges } from "./fieldChanges";

test("names the changed fields, whatever their order", () => {
  const before = { reason: "over the limit", status: "refused", order: "A-1" };
  expect(fieldChanges(before, { status: "refunded", order: "A-1", amount: 42 })).toEqual([
    { name: "reason", before: "over the limit", after: "" },
    { name: "status", before: "refused", after: "refunded" },
    { name: "amount", before: "", after: "42" },
  ]);
});

test("names the changed documents", () => {
  const limit = { id: "limit", content: "Up to 200 EUR." };
  const warranty = { id: "warranty", content: "Lamps have a warranty." };
  const newDocuments = [{ ...limit, content: "Up to 900 EUR." }];
  expect(fieldChanges([limit, warranty], newDocuments)).toEqual([
    { name: "limit", before: "Up to 200 EUR.", after: "Up to 900 EUR." },
    { name: "warranty", before: "Lamps have a warranty.", after: "" },
  ]);
});

test("has no parts for texts, items without ids, and documents in another order", () => {
  expect(fieldChanges("old", "new")).toBeNull();
  expect(fieldChanges([{ content: "a" }], [{ content: "b" }])).toBeNull();
  const [a, b] = [
    { id: "a", content: "1" },
    { id: "b", content: "2" },
  ];
  expect(fieldChanges([a, b], [b, a])).toBeNull();
});
