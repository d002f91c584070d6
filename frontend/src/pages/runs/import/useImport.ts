import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { csrfHeaders, request } from "@/api/client";
import { problemFrom } from "@/api/problem";
import { sentence } from "@/ui/format/text";
import type { ChosenFile } from "@/ui/pointer/chosenFiles";
import { applyLine, cancelled, idle, lines, parseLine, type ImportState } from "./importStream";

export interface Import {
  state: ImportState;
  start: (files: ChosenFile[] | Promise<ChosenFile[]>) => void;
  cancel: () => void;
  dismiss: () => void;
}

/** Upload files and follow the progress of each. */
export function useImport(): Import {
  const [state, setState] = useState(idle);
  const abort = useRef<AbortController>(null);
  const client = useQueryClient();

  const run = async (chosenFiles: ChosenFile[] | Promise<ChosenFile[]>) => {
    abort.current = new AbortController();
    try {
      const files = await chosenFiles;
      if (files.length === 0) return;
      setState({ ...idle, phase: "sending", files: files.length });
      await send(files, abort.current.signal, (change) => setState(change));
      setState((current) => (current.phase === "sending" ? { ...current, phase: "done" } : current));
    } catch (error) {
      const { aborted } = abort.current.signal;
      const message = sentence(String(error instanceof Error ? error.message : error));
      setState((current) => (aborted ? cancelled(current) : { ...current, phase: "failed", error: message }));
    }
    await client.invalidateQueries({ queryKey: ["runs"] });
  };
  return {
    state,
    start: (files) => {
      if (state.phase !== "sending") void run(files);
    },
    cancel: () => abort.current?.abort(),
    dismiss: () => setState(idle),
  };
}

async function send(
  files: readonly ChosenFile[],
  signal: AbortSignal,
  change: (apply: (current: ImportState) => ImportState) => void,
): Promise<void> {
  const body = new FormData();
  // The name of a file in a form has no folders.
  body.append("paths", JSON.stringify(files.map(({ path }) => path)));
  for (const { file } of files) body.append("file", file, file.name);
  const headers = { ...csrfHeaders(), Accept: "application/x-ndjson", "Idempotency-Key": crypto.randomUUID() };
  const response = await request("/api/v1/runs/import", { method: "POST", body, headers, signal });
  if (!response.ok || !response.body) throw await problemFrom(response);
  for await (const text of lines(response.body)) {
    const line = parseLine(text);
    if (line) change((current) => applyLine(current, line));
  }
}
