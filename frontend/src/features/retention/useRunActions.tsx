import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient, type InvalidateQueryFilters } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { loadPart } from "@/api/connection/loadPart";
import { deleteRuns, markRun, restoreRun } from "@/api/retention";
import type { DeletionResult, MarkRequest } from "@/api/schema";
import type { ActionRun } from "@/domain/retention/refusals";
import { pluralize } from "@/ui/format/numbers";
import { offerUndo } from "@/ui/offerUndo";
import { showFailure } from "@/ui/failure/failure";

const RenameDialog = lazy(() => loadPart(() => import("./RenameDialog")));
const TagsDialog = lazy(() => loadPart(() => import("./TagsDialog")));
const RefusalDialog = lazy(() => loadPart(() => import("./RefusalDialog")));

// These do not change, and those of a deleted run cannot be read.
const LASTING: readonly unknown[] = ["step", "bisections"];
const ALL_BUT_LASTING: InvalidateQueryFilters = { predicate: ({ queryKey }) => !LASTING.includes(queryKey[0]) };

export interface RunActions {
  /** The role of the caller permits changes. */
  mayChange: boolean;
  isAdmin: boolean;
  isPending: boolean;
  mark: (runs: readonly ActionRun[], change: Partial<MarkRequest>) => void;
  remove: (runs: readonly ActionRun[]) => void;
  rename: (run: ActionRun) => void;
  tag: (runs: readonly ActionRun[]) => void;
  /** Asks for a name or tags, or explains what was not deleted. Render it once. */
  dialog: ReactElement;
}

/** Name, tag, pin, hold and delete runs. A deletion can be undone; a refused one is explained. */
export function useRunActions(onDeleted: (ids: readonly string[]) => void = () => undefined): RunActions {
  const client = useQueryClient();
  const { data: access } = useQuery(accessQuery);
  const [refusal, setRefusal] = useState<{ runs: readonly ActionRun[]; result: DeletionResult } | null>(null);
  const [namedRun, setNamedRun] = useState<ActionRun | null>(null);
  const [taggedRuns, setTaggedRuns] = useState<readonly ActionRun[]>([]);
  const mark = useMutation({
    mutationFn: ({ runs, change }: { runs: readonly ActionRun[]; change: Partial<MarkRequest> }) =>
      Promise.all(runs.map(({ id }) => markRun(id, change))),
    onSuccess: (_, { runs, change }) => notifications.show({ message: markWords(runs, change) }),
    onError: (error) => showFailure("The run was not changed", error),
    onSettled: () => client.invalidateQueries(ALL_BUT_LASTING),
  });
  const remove = useMutation({
    mutationFn: ({ runs, includesCitations }: { runs: readonly ActionRun[]; includesCitations: boolean }) =>
      deleteRuns({ runs: runs.map(({ id }) => id), includes_citations: includesCitations, at_once: false }),
    onSuccess: (result, { runs }) => {
      const ids = result.deletions.map(({ id }) => id);
      setRefusal(result.refusals.length > 0 ? { runs, result } : null);
      if (ids.length === 0) return;
      const message = ids.length === 1 ? "The run was deleted." : `${ids.length} runs were deleted.`;
      offerUndo(message, "Not everything was restored", () =>
        Promise.all(ids.map(restoreRun)).finally(() => void client.invalidateQueries(ALL_BUT_LASTING)),
      );
      onDeleted(ids);
      void client.invalidateQueries(ALL_BUT_LASTING);
    },
    onError: (error) => showFailure("Nothing was deleted", error),
  });
  const isAdmin = access?.role === "admin";
  return {
    mayChange: isAdmin || access?.role === "debugger",
    isAdmin,
    isPending: mark.isPending || remove.isPending,
    mark: (runs, change) => mark.mutate({ runs, change }),
    remove: (runs) => remove.mutate({ runs, includesCitations: false }),
    rename: setNamedRun,
    tag: setTaggedRuns,
    dialog: (
      <Suspense>
        {namedRun ? (
          <RenameDialog
            run={namedRun}
            onClose={() => setNamedRun(null)}
            onSaved={() => void client.invalidateQueries(ALL_BUT_LASTING)}
          />
        ) : taggedRuns.length > 0 ? (
          <TagsDialog
            runs={taggedRuns}
            onClose={() => setTaggedRuns([])}
            onSaved={() => void client.invalidateQueries(ALL_BUT_LASTING)}
          />
        ) : (
          refusal && (
            <RefusalDialog
              runs={refusal.runs}
              result={refusal.result}
              isAdmin={isAdmin}
              isPending={remove.isPending}
              onDeleteAnyway={(runs) => remove.mutate({ runs, includesCitations: true })}
              onClose={() => setRefusal(null)}
            />
          )
        )}
      </Suspense>
    ),
  };
}

function markWords(runs: readonly ActionRun[], { is_pinned, is_held }: Partial<MarkRequest>): string {
  const subject = runs.length === 1 ? "The run" : pluralize(runs.length, "run");
  const verb = runs.length === 1 ? "is" : "are";
  if (is_held != null) return `${subject} ${verb} ${is_held ? "under legal hold" : "no longer under legal hold"}.`;
  return `${subject} ${verb} ${is_pinned ? "pinned: retention keeps pinned runs" : "no longer pinned"}.`;
}
