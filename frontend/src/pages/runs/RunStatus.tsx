import { Loader, Tooltip } from "@mantine/core";
import { IconAlertCircle, IconCircleCheck, IconCircleX } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { RunStatus as Status } from "@/api/schema";

/** How a run ended, as a shape and a colour with its word. */
export function RunStatus({ status, errors }: { status: Status; errors: number }): ReactElement {
  const { word, icon } = look(status, errors);
  return (
    <Tooltip label={word}>
      <span role="img" aria-label={word} style={{ display: "inline-flex", flex: "none" }}>
        {icon}
      </span>
    </Tooltip>
  );
}

function look(status: Status, errors: number): { word: string; icon: ReactElement } {
  switch (status) {
    case "failed":
      return { word: "failed", icon: <IconCircleX size={16} className="failed" /> };
    case "running":
      return { word: "running", icon: <Loader size={13} /> };
    case "completed":
      if (errors > 0)
        return { word: "completed with errors", icon: <IconAlertCircle size={16} className="simulated" /> };
      return { word: "completed", icon: <IconCircleCheck size={16} className="exact" /> };
  }
}
