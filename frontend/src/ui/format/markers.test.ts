import { expect, test } from "vitest";
import { shortenMarkers, splitMarkers } from "./markers";

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

test("a line of a list shows the kinds of values", () => {
  expect(shortenMarkers(`use [redacted:aws-client-id:${DIGEST}] now`)).toBe("use ‹aws-client-id› now");
  expect(shortenMarkers("deploy([redacted:github-classic-token:6f16…, eu-1")).toBe(
    "deploy(‹github-classic-token›…, eu-1",
  );
  expect(shortenMarkers("no [redacted] values")).toBe("no [redacted] values");
});
