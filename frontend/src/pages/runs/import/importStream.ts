// The response of an import: one JSON document per line, the report last.
import type { ImportedRun, ImportReport, Problem, SkippedFile, UnreadMember } from "@/api/schema";

import { bytes, count, pluralize } from "@/ui/format/numbers";

export interface ImportState {
  phase: "idle" | "sending" | "done" | "failed";
  /** Number of files in the request. */
  files: number;
  /** The file being read, how much of it is done, and the number of runs that are stored. */
  progress: Omit<Extract<Line, { type: "progress" }>, "type"> | null;
  /** Its number among the files, from 1. */
  fileNumber: number;
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
  fileNumber: 0,
  runs: [],
  skippedFiles: [],
  unreadMembers: [],
  error: "",
};

type Line =
  // oxlint-disable-next-line project/loose -- the server's name
  | { type: "progress"; path: string; done: number; total: number; runs: number }
  | ({ type: "problem" } & Pick<Problem, "code" | "detail" | "where">)
  | ({ type: "report" } & ImportReport);

export function parseLine(text: string): Line | null {
  return text.trim() ? (JSON.parse(text) as Line) : null;
}

export function applyLine(state: ImportState, line: Line): ImportState {
  switch (line.type) {
    case "progress": {
      const { type: _, ...progress } = line;
      // A file of an archive has a path of its own.
      const next = state.progress?.path === line.path ? state.fileNumber : state.fileNumber + 1;
      return { ...state, progress, fileNumber: Math.min(next, state.files) };
    }
    case "problem":
      return {
        ...state,
        phase: "failed",
        error: line.where ? `${line.detail} (${line.where})` : line.detail,
      };
    case "report":
      return { ...state, phase: "done", runs: line.runs, skippedFiles: line.skipped, unreadMembers: line.unread };
    default:
      return line satisfies never;
  }
}

/** How much is read, of one file in bytes, whose number may not be known, and how many runs are stored. */
export function progressWords({ files, fileNumber, progress }: ImportState): string {
  if (!progress) return "Uploading…";
  const { done: size, total, runs } = progress;
  const bytesRead = total > 0 ? `${bytes(size)} of ${bytes(total)} read` : `${bytes(size)} read`;
  const read = files > 1 ? `File ${count(fileNumber)} of ${count(files)}` : bytesRead;
  return runs > 0 ? `${read} · ${pluralize(runs, "run")} stored` : read;
}

/** How much of all files is read, in percent. */
export function percentRead({ files, fileNumber, progress }: ImportState): number {
  if (!progress) return 0;
  const part = progress.done / Math.max(1, progress.total);
  return (100 * (fileNumber - 1 + Math.min(1, part))) / Math.max(1, files);
}

/** What became of an import, before its details. */
export function headline(state: ImportState): string {
  switch (state.phase) {
    case "idle":
      return "";
    case "sending":
      return progressWords(state);
    case "done":
      return importWords(state);
    case "failed":
      return state.progress ? "Import stopped" : "Nothing was imported";
    default:
      return state.phase satisfies never;
  }
}

/** What a cancelled import leaves. The server stops at its next run; what is stored already stays. */
export function cancelled(state: ImportState): ImportState {
  const error = state.progress
    ? "You cancelled it. Runs that were already stored stay; import the files again to add the others."
    : "You cancelled the upload.";
  return { ...state, phase: "failed", error };
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
    `${pluralize(newCount, "run")} imported`,
    revisions > 0 && `${count(revisions)} as ${revisions === 1 ? "a new revision" : "new revisions"}`,
    conflicts > 0 && pluralize(conflicts, "conflicting recording"),
    existing > 0 && `${count(existing)} already here`,
    incomplete > 0 && `${count(incomplete)} with unavailable parts`,
    skippedFiles.length > 0 && `${count(skippedFiles.length)} skipped`,
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
