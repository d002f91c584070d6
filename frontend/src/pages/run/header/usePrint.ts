import { useQueryClient } from "@tanstack/react-query";
import { TRANSCRIPT_WINDOW, transcriptQuery } from "@/api/runs/transcripts";
import type { RunDetail } from "@/api/schema";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { PAPER_ROWS } from "@/ui/paper/paper";

/** Print a run with all of its texts. The page itself has loaded only those of the steps on the screen. */
export function usePrint({ id, steps }: RunDetail): () => Promise<void> {
  const client = useQueryClient();
  const windows = Math.ceil(Math.min(steps, PAPER_ROWS) / TRANSCRIPT_WINDOW);
  const print = async () => {
    // What does not load is printed by its summary.
    await Promise.allSettled(Array.from({ length: windows }, (_, window) => client.query(transcriptQuery(id, window))));
    window.print();
  };
  useShortcuts("Run", [{ keys: "mod+p", action: "Print the run", run: () => void print(), whileTyping: true }]);
  return print;
}
