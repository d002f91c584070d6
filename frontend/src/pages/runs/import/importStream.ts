// The response of an import: one JSON document per line, the report last.
import type { ImportedRun, ImportReport, Problem, SkippedFile, UnreadMember } from "@/api/schema";

import { bytes, pluralize } from "@/ui/format/numbers";

export interface ImportState {
  phase: "idle" | "sending" | "done" | "failed";
  /** Number of files in the request. */
  files: number;
  /** The file being read, and how much of it is done. */
  progress: Omit<Extract<Line, { type: "progress" }>, "type"> | null;
  runs: ImportedRun[];
  skippedFiles: SkippedFile[];
  /** Members of the files whose values are in no run. */
  unreadMembers: UnreadMember[];
  /** Why the whole request failed; empty if it did not. */
  error: string;
}
export const idle: ImportState = {
  phase: "idle",
  files: 0,
  progress: null,
  runs: [],
  skippedFiles: [],
  unreadMembers: [],
  error: "",
};

type Line =
  // oxlint-disable-next-line project/loose -- the server's name
  | { type: "progress"; path: string; done: number; total: number }
  | ({ type: "problem" } & Pick<Problem, "code" | "detail" | "where">)
  | ({ type: "report" } & ImportReport);

export function parseLine(text: string): Line | null {
  return text.trim() ? (JSON.parse(text) as Line) : null;
}

export function applyLine(state: ImportState, line: Line): ImportState {
  switch (line.type) {
    case "progress":
      return { ...state, progress: { path: line.path, done: line.done, total: line.total } };
    case "problem":
      return { ...state, phase: "failed", error: line.where ? `${line.detail} (${line.where})` : line.detail };
    case "report":
      return { ...state, phase: "done", runs: line.runs, skippedFiles: line.skipped, unreadMembers: line.unread };
    default:
      return line satisfies never;
  }
}

/** How much of a file is read; its size may not be known. */
export function progressWords({ done: size, total }: NonNullable<ImportState["progress"]>): string {
  return total > 0 ? `${bytes(size)} of ${bytes(total)}` : bytes(size);
}

/** Where in a file it could not be read; empty for the whole file. */
export const placeInFile = (place: string) => (place === "/" || place === "byte 0" ? "" : place);

/** "904 runs imported, 2 as new revisions, 1 conflicting recording, 12 already here, 1 skipped". */
export function importWords({ runs, skippedFiles }: Pick<ImportState, "runs" | "skippedFiles">): string {
  const newCount = runs.filter((run) => run.created).length;
  const existing = runs.length - newCount;
  const revisions = runs.filter((run) => run.created && run.supersedes !== null).length;
  const conflicts = runs.filter((run) => run.conflicts_with !== null).length;
  const incomplete = runs.filter((run) => run.lost.length > 0).length;
  const parts = [
    `${newCount} ${newCount === 1 ? "run" : "runs"} imported`,
    revisions > 0 && `${revisions} as ${revisions === 1 ? "a new revision" : "new revisions"}`,
    conflicts > 0 && pluralize(conflicts, "conflicting recording"),
    existing > 0 && `${existing} already here`,
    incomplete > 0 && `${incomplete} with unavailable parts`,
    skippedFiles.length > 0 && `${skippedFiles.length} skipped`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Split a stream of text into lines. */
export async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
    const completeLines = rest.split("\n");
    rest = done ? "" : (completeLines.pop() ?? "");
    yield* completeLines;
    if (done) return;
  }
}
