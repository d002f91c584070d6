import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconShare2 } from "@tabler/icons-react";
import { lazy, Suspense, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import type { RunSummary } from "@/api/schema";
import { runTitle } from "@/domain/runs/title";

const ShareManyDialog = lazy(() => loadPart(() => import("./ShareManyDialog")));

interface Props {
  runs: readonly Pick<RunSummary, "id" | "title" | "change" | "name">[];
  /** Why the runs cannot be shared. */
  refusal?: string | undefined;
}

/** Shares the selected runs: one link per run, copied as a list. */
export function ShareManyButton({ runs, refusal }: Props): ReactElement {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <>
      <Button
        variant="subtle"
        leftSection={<IconShare2 size={15} />}
        disabled={refusal !== undefined}
        title={refusal}
        onClick={dialog.open}
      >
        Share
      </Button>
      {isOpen && (
        <Suspense>
          <ShareManyDialog runs={runs.map((run) => ({ id: run.id, title: runTitle(run) }))} onClose={dialog.close} />
        </Suspense>
      )}
    </>
  );
}
