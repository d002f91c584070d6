import { expect, test } from "vitest";
import { localDay, timeWords, toInstant } from "./timeRange";

const now = Date.parse("2026-11-21T12:00:00Z");

test("relative times count back from now", () => {
  expect(toInstant("24h", "since", now)).toBe("2026-11-20T12:00:00.000Z");
  expect(toInstant("7d", "since", now)).toBe("2026-11-14T12:00:00.000Z");
});

test("includes the whole end day", () => {
  const start = Date.parse(toInstant("2026-11-01", "since") ?? "");
  const end = Date.parse(toInstant("2026-11-01", "until") ?? "");
  expect(end - start).toBe(86_400_000);
});

test("drops invalid times", () => {
  expect([toInstant("soon", "since"), toInstant("2026-13-45", "since")]).toEqual([null, null]);
});

test("describes time ranges", () => {
  expect(timeWords("7d", undefined)).toBe("last 7 days");
  expect(timeWords("2026-11-01", "2026-11-03")).toBe("from 2026-11-01 until 2026-11-03");
  expect(localDay("7d")).toBe("");
});
