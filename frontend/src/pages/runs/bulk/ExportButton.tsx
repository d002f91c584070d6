import { Button } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { exportRuns } from "@/api/runs/exports";
import type { RunSummary } from "@/api/schema";
import { showFailure } from "@/ui/failure/failure";

interface Props {
  runs: readonly Pick<RunSummary, "id">[];
  /** Why the runs cannot be exported. */
  refusal?: string | undefined;
}

/** Downloads the selected runs as one file that any Forkpoint can import. */
export function ExportButton({ runs, refusal }: Props): ReactElement {
  const exporting = useMutation({
    mutationFn: () => exportRuns(runs.map(({ id }) => id)),
    onSuccess: (file) => download(file, runs.length === 1 ? "run.zip" : `${runs.length}-runs.zip`),
    onError: (error) => showFailure("The runs were not exported", error),
  });
  return (
    <Button
      variant="subtle"
      leftSection={<IconDownload size={15} />}
      disabled={refusal !== undefined}
      title={refusal ?? "Download them as one file that any Forkpoint can import"}
      loading={exporting.isPending}
      onClick={() => exporting.mutate()}
    >
      Export
    </Button>
  );
}

function download(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The browser has the file once the click is handled.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
