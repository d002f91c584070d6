import { expect, test } from "vitest";
import { timeAgo, bytes, dayTitle, pluralize, duration, money, shortId, tokens, totalTokens } from "./numbers";

test("never shows unknown as zero", () => {
  expect([money(null), duration(null), tokens(null)]).toEqual(["–", "–", "–"]);
  expect([money(0), duration(0), tokens(0)]).toEqual(["$0.00", "0 ms", "0"]);
  expect(totalTokens({ tokens_in: 0, tokens_out: 0 })).toBe("–");
});

test.each([
  [12.4, "$12.40"],
  [1234.5, "$1,234.50"],
  [0.0314, "$0.031"],
  [0.5, "$0.50"],
  [0.996, "$1.00"],
  [0.00002, "<$0.0001"],
  [-0.008, "−$0.008"],
])("money %d reads %s", (value, text) => expect(money(value)).toBe(text));

test.each([
  [0.4, "<1 ms"],
  [41.2, "41 ms"],
  [1234, "1.2 s"],
  [9960, "10 s"],
  [59_700, "1 m 00 s"],
  [125_000, "2 m 05 s"],
  [11_520_000, "3 h 12 m"],
])("%d ms reads %s", (value, text) => expect(duration(value)).toBe(text));

test("abbreviates only large token counts", () => {
  expect([tokens(9412), tokens(412_345)]).toEqual(["9,412", "412.3K"]);
});

test("times are relative for a day", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  expect(timeAgo("2026-11-21T11:56:00Z", now)).toBe("4 min ago");
  expect(timeAgo("2026-11-21T11:59:58Z", now)).toBe("just now");
  expect(timeAgo("2026-11-21T11:00:10Z", now)).toBe("1 h ago");
  expect(timeAgo("2026-11-21T18:00:00Z", now)).toBe("in 6 h");
  expect(timeAgo("2026-11-23T12:00:00Z", now)).toBe("Nov 23, 2026");
  expect(timeAgo("2026-11-20T11:00:00Z", now)).toBe("yesterday");
  expect(timeAgo("2026-11-19T11:00:00Z", now)).toBe("Nov 19, 2026");
  expect(timeAgo("2026-10-02T12:00:00Z", now)).toBe("Oct 2, 2026");
});

test("days are named from where the reader is, with the year only if it is another", () => {
  const now = new Date(2026, 2, 1, 0, 30).getTime();
  const day = (...date: [number, number, number, number]) => dayTitle(new Date(...date).toISOString(), now);
  expect([day(2026, 2, 1, 0), day(2026, 1, 28, 23), day(2026, 1, 27, 12), day(2025, 11, 31, 9)]).toEqual([
    "Today",
    "Yesterday",
    "Fri, Feb 27",
    "Wed, Dec 31, 2025",
  ]);
});

test("formats counts, bytes and ids", () => {
  expect([pluralize(1, "step"), pluralize(2000, "step"), pluralize(2, "entry", "entries")]).toEqual([
    "1 step",
    "2,000 steps",
    "2 entries",
  ]);
  expect([bytes(512), bytes(2048), bytes(5_500_000)]).toEqual(["512 B", "2.0 kB", "5.2 MB"]);
  expect(shortId("019ab3c4-1111-7222-8333-444455556666")).toBe("019ab3…6666");
});
