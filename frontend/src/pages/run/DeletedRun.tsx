import { Button } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { ProblemError } from "@/api/problem";
import { deletionQuery, restoreRun } from "@/api/retention";
import type { DeletionView } from "@/api/schema";
import { ErrorPage } from "@/app/ErrorPage";
import { paths } from "@/app/paths";
import { EmptyState } from "@/ui/EmptyState";
import { fullTime, timeAgo } from "@/ui/format/numbers";
import { showFailure } from "@/ui/failure/failure";
import { RunSkeleton } from "./RunSkeleton";

/** The page of a run that cannot be shown: it was deleted, or another error. */
export function MissingRun({ run, error, onRetry }: { run: string; error: Error; onRetry: () => void }): ReactElement {
  const isMissing = error instanceof ProblemError && error.problem.code === "not_found";
  const deletion = useQuery({ ...deletionQuery(run), enabled: isMissing });
  if (deletion.data) return <DeletedRun deletion={deletion.data} onRestored={onRetry} />;
  if (deletion.isLoading) return <RunSkeleton run={undefined} />;
  return <ErrorPage error={error} onRetry={onRetry} />;
}

function DeletedRun({ deletion, onRestored }: { deletion: DeletionView; onRestored: () => void }): ReactElement {
  const client = useQueryClient();
  const { data: access } = useQuery(accessQuery);
  const restore = useMutation({
    mutationFn: () => restoreRun(deletion.id),
    onSuccess: () => {
      onRestored();
      return client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "run" });
    },
    onError: (error) => showFailure("The run was not restored", error),
  });
  const mayRestore = access !== undefined && access.role !== "viewer";
  return (
    <>
      <title>Deleted run · Forkpoint</title>
      <EmptyState
        isPage
        icon={<IconTrash size={28} stroke={1.5} />}
        title={deletion.name ? `“${deletion.name}” was deleted` : "This run was deleted"}
        action={
          <>
            {deletion.removed_at === null && (
              <Button
                loading={restore.isPending}
                disabled={!mayRestore}
                title={mayRestore ? undefined : "Restoring needs the debugger role"}
                onClick={() => restore.mutate()}
              >
                Restore
              </Button>
            )}
            <Link {...paths.runs()}>Go to runs</Link>
          </>
        }
      >
        {deletionWords(deletion)} {removalWords(deletion)}
      </EmptyState>
    </>
  );
}

function deletionWords({ by, reason, at }: DeletionView): string {
  const author = by ? ` by ${by}` : "";
  return `Deleted${author} on ${fullTime(at)}${reason ? `: ${reason}` : ""}.`;
}

function removalWords({ removed_at, due_at }: DeletionView): string {
  if (removed_at !== null) return `Its contents were removed on ${fullTime(removed_at)} and cannot be restored.`;
  return due_at === null ? "" : `It can be restored until ${fullTime(due_at)} (${timeAgo(due_at)}).`;
}
