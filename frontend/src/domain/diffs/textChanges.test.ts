import { expect, test } from "vitest";
import { changedPlaces, changeSize, textChanges, type TextPiece } from "./textChanges";

const afterOf = (pieces: readonly TextPiece[]) =>
  pieces.flatMap(({ kind, text }) => (kind === "removed" ? [] : [text])).join("");
const PROMPT = "You are the desk.\nToday is Monday.\n\nPolicies:\nDamaged goods are refunded.";

test.each([
  ["the end", `${PROMPT} Convert cents.`, " Convert cents."],
  ["a line of its own", PROMPT.replace("\n\n", "\nConvert cents.\n\n"), "Convert cents."],
  ["the start", `Convert cents. ${PROMPT}`, "Convert cents. "],
])("a sentence added at %s is the only mark", (_, after, added) => {
  const pieces = textChanges(PROMPT, after);
  expect(pieces.filter(({ kind }) => kind !== "same").map(({ kind, text }) => [kind, text.trim()])).toEqual([
    ["added", added.trim()],
  ]);
  expect(afterOf(pieces)).toBe(after);
  expect(changeSize(pieces)).toBe("+1 sentence");
});

test("a sentence between two others is marked from its beginning, also beside another edit", () => {
  const after = PROMPT.replace("Monday.", "Monday.\nConvert cents.").replace("the desk", "a desk");
  const pieces = textChanges(PROMPT, after);
  expect(pieces.filter(({ kind }) => kind === "added").map(({ text }) => text)).toEqual(["a", "\nConvert cents."]);
});

test("a sentence with a colon is one sentence", () => {
  expect(changeSize(textChanges(PROMPT, `${PROMPT} Totals are in cents: convert them.`))).toBe("+1 sentence");
});

test("replaced words are marked on both sides", () => {
  const pieces = textChanges("Refund the whole order today", "Refund half of the order today");
  expect(pieces).toEqual([
    { kind: "same", text: "Refund " },
    { kind: "added", text: "half of " },
    { kind: "same", text: "the" },
    { kind: "removed", text: " whole" },
    { kind: "same", text: " order today" },
  ]);
  expect(changeSize(pieces)).toBe("−1 word +2 words");
});

test("an unchanged text has no marks", () => {
  expect(textChanges(PROMPT, PROMPT)).toEqual([{ kind: "same", text: PROMPT }]);
  expect(changeSize(textChanges(PROMPT, PROMPT))).toBe("");
  expect(textChanges("", "")).toEqual([]);
});

test("texts that share nothing, and texts that are too large to compare, are one replacement", () => {
  expect(textChanges("one", "two").map(({ kind }) => kind)).toEqual(["removed", "added"]);
  const large = (word: string) => Array.from({ length: 2_000 }, (_, n) => `${word}${n}`).join(" ");
  expect(textChanges(large("a"), large("b")).map(({ kind }) => kind)).toEqual(["removed", "added"]);
});

test("the pieces always spell both texts", () => {
  const words = ["the ", "order", "\n", " ", "cents", ". ", "42", "é"];
  let seed = 7;
  const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
  const text = () => Array.from({ length: random(14) }, () => words[random(words.length)]).join("");
  for (let round = 0; round < 500; round++) {
    const [before, after] = [text(), text()];
    const pieces = textChanges(before, after);
    expect(afterOf(pieces)).toBe(after);
    expect(pieces.flatMap(({ kind, text }) => (kind === "added" ? [] : [text])).join("")).toBe(before);
  }
});

test("the places of a change have little text around them", () => {
  const [start, end] = ["First. ".repeat(40), " Last.".repeat(40)];
  const places = changedPlaces(textChanges(`${start}old${end}`, `${start}new${end}`)).map(({ kind, text }) => [
    kind,
    text,
  ]);
  expect(places).toEqual([
    ["same", `… ${start.slice(-70)}`],
    ["removed", "old"],
    ["added", "new"],
    ["same", `${end.slice(0, 70)} …`],
  ]);
  expect(changedPlaces(textChanges("Be kind.", "Be very kind."))).toEqual(textChanges("Be kind.", "Be very kind."));
});
