import { expect, test } from "vitest";
import { problemFrom, ProblemError, UnreachableError } from "@/api/problem";
import { failureWords } from "./failure";

const problem = { type: "about:blank", title: "", status: 400, where: "", retryable: false, request_id: "" };

test.each([
  [new UnreachableError(), "Can’t reach the server. Check that it is running, then try again."],
  [
    new ProblemError({ ...problem, code: "auth_required", detail: "send a token as `Authorization`" }),
    "You are no longer signed in. Sign in in another tab, then try again.",
  ],
  [new ProblemError({ ...problem, code: "validation_error", detail: "the name is taken" }), "The name is taken."],
])("says what happened and what to try: %s", (error, words) => {
  expect(failureWords(error)).toBe(words);
});

test.each([
  ["<html>413</html>", 413, "This is larger than the server accepts."],
  ["<html>Bad Gateway</html>", 502, "The server does not respond. Wait a moment, then try again."],
  // The problem of another program.
  ['{"code":"throttled","detail":"quota"}', 429, "There were too many requests. Wait a moment, then try again."],
])("puts the failure of a proxy into words: %s", async (body, status, words) => {
  expect(failureWords(await problemFrom(new Response(body, { status })))).toBe(words);
});
