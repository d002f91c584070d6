// What the server tells while it imports: one JSON document a line, the report at the end.
import type { ImportedRun, ImportReport, SkippedFile } from "@/api/schema";

export interface ImportState {
  phase: "idle" | "sending" | "done" | "failed";
  /** How many files were given. */
  files: number;
  /** What the server is reading, and how far it is. */
  progress: Omit<Extract<Line, { type: "progress" }>, "type"> | null;
  runs: ImportedRun[];
  skipped: SkippedFile[];
  /** What went wrong with the whole request. */
  error: string;
}
export const idle: ImportState = { phase: "idle", files: 0, progress: null, runs: [], skipped: [], error: "" };

type Line =
  | { type: "progress"; path: string; done: number; total: number }
  | { type: "problem"; code: string; detail: string; where: string }
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
      return { ...state, phase: "done", runs: line.runs, skipped: line.skipped };
    default:
      return line satisfies never;
  }
}

/** "904 runs imported, 12 were here already, 1 file skipped". */
export function importWords({ runs, skipped }: Pick<ImportState, "runs" | "skipped">): string {
  const created = runs.filter((run) => run.created).length;
  const existing = runs.length - created;
  const incomplete = runs.filter((run) => run.lost.length > 0).length;
  const parts = [
    `${created} ${created === 1 ? "run" : "runs"} imported`,
    existing > 0 && `${existing} here already`,
    incomplete > 0 && `${incomplete} with unavailable parts`,
    skipped.length > 0 && `${skipped.length} skipped`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Cuts a stream of text into its lines. */
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
