import { expect, test } from "vitest";
import { splitMarkers } from "./markers";

const DIGEST = "0123456789abcdef";

test("a text without markers is one piece", () => {
  expect(splitMarkers("[redacted] and [x]")).toEqual([{ text: "[redacted] and [x]" }]);
});

test("markers are split from the text around them", () => {
  expect(splitMarkers(`key [redacted:aws-client-id:${DIGEST}]!`)).toEqual([
    { text: "key " },
    { kind: "aws-client-id", digest: DIGEST },
    { text: "!" },
  ]);
  expect(splitMarkers("[dropped:notes]")).toEqual([{ kind: "notes", digest: "" }]);
});

test("a blocked value is one marker", () => {
  expect(splitMarkers("[redaction-failed]")).toEqual([{ kind: "redaction-failed", digest: "" }]);
});
