import { expect, test } from "vitest";
import type { ImportedRun } from "@/api/schema";
import {
  applyLine,
  cancelled,
  headline,
  idle,
  importWords,
  lines,
  parseLine,
  percentRead,
  placeInFile,
  progressWords,
} from "./importStream";

const run: ImportedRun = {
  id: "r1",
  external_id: "t1",
  name: "n",
  app: "a",
  status: "completed",
  steps: 3,
  format: "chat",
  created: true,
  revision: 1,
  supersedes: null,
  conflicts_with: null,
  lost: [],
};

test("joins lines across chunks", async () => {
  const chunks = ['{"a"', ':"é', '"}\n{"b":2}\n', '{"c":3}'].map((text) => new TextEncoder().encode(text));
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const lineTexts: string[] = [];
  for await (const line of lines(body)) lineTexts.push(line);
  expect(lineTexts).toEqual(['{"a":"é"}', '{"b":2}', '{"c":3}']);
});

const read = (state: typeof idle, line: object) => applyLine(state, parseLine(JSON.stringify(line)) ?? expect.fail());

test("follows progress until the report", () => {
  const half = read(idle, { type: "progress", path: "runs.jsonl", done: 450, total: 904, runs: 200 });
  expect(half.progress).toEqual({ path: "runs.jsonl", done: 450, total: 904, runs: 200 });
  const skippedFiles = [{ path: "x.bin", reason: "no known format", where: "byte 0" }];
  const unread = [{ path: "runs.jsonl", member: "/messages/note", values: 2 }];
  expect(read(half, { type: "report", runs: [run], skipped: skippedFiles, unread })).toMatchObject({
    phase: "done",
    runs: [run],
    skippedFiles,
    unreadMembers: unread,
  });
});

test("reports a failed import", () => {
  const state = read(idle, {
    type: "problem",
    code: "payload_too_large",
    detail: "The body is too large.",
    where: "/file",
  });
  expect(state).toMatchObject({ phase: "failed", error: "The body is too large. (/file)" });
  expect(parseLine("  ")).toBeNull();
});

test("summarises the outcome", () => {
  expect(importWords({ runs: [run, { ...run, created: false }], skippedFiles: [] })).toBe(
    "1 run imported, 1 already here",
  );
  expect(importWords({ runs: [{ ...run, lost: ["ab12"] }], skippedFiles: [] })).toBe(
    "1 run imported, 1 with unavailable parts",
  );
});

test("counts revisions and conflicts", () => {
  const revision = { ...run, revision: 2, supersedes: "r0" };
  const conflict = { ...run, revision: 3, conflicts_with: "r0" };
  expect(importWords({ runs: [run, revision, conflict], skippedFiles: [] })).toBe(
    "3 runs imported, 1 as a new revision, 1 conflicting recording",
  );
  expect(importWords({ runs: [revision, revision, { ...revision, created: false }], skippedFiles: [] })).toBe(
    "2 runs imported, 2 as new revisions, 1 already here",
  );
});

const oneFile = { ...idle, phase: "sending" as const, files: 1 };

test("states sizes with their units, and no place for a whole file", () => {
  const words = (size: number, total: number, runs: number) =>
    progressWords(read(oneFile, { type: "progress", path: "a", done: size, total, runs }));
  expect(words(450, 270_152, 0)).toBe("450 B of 264 kB read");
  expect(words(450, 270_152, 400)).toBe("450 B of 264 kB read · 400 runs stored");
  expect(words(2048, 0, 0)).toBe("2.0 kB read");
  expect(progressWords(oneFile)).toBe("Uploading…");
  expect(["/", "byte 0", "line 2 column 1"].map(placeInFile)).toEqual(["", "", "line 2 column 1"]);
});

test("counts the files of a folder", () => {
  const line = (path: string, size: number) => ({ type: "progress", path, done: size, total: 100, runs: 1 });
  const second = [line("a", 50), line("a", 100), line("b", 50)].reduce(read, { ...oneFile, files: 4 });
  expect(progressWords(second)).toBe("File 2 of 4 · 1 run stored");
  expect(percentRead(second)).toBe(37.5);
  expect(percentRead(oneFile)).toBe(0);
});

test("claims nothing about the number of runs after a cancelled import", () => {
  const half = read(oneFile, { type: "progress", path: "runs.jsonl", done: 450, total: 904, runs: 200 });
  expect(headline(half)).toBe("450 B of 904 B read · 200 runs stored");
  expect(headline(cancelled(half))).toBe("Import stopped");
  expect(cancelled(half).error).toContain("already stored stay");
  expect([headline(cancelled(idle)), cancelled(idle).error]).toEqual([
    "Nothing was imported",
    "You cancelled the upload.",
  ]);
});
