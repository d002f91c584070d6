import { useNavigate, useRouterState } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { paths } from "@/app/paths";
import { DropOverlay } from "@/ui/pointer/DropOverlay";
import { offerFiles } from "@/ui/pointer/droppedFiles";

/** Files dropped on any page are imported on the list of runs. Without this, the browser would leave for the file. */
export function FileDrop(): ReactElement {
  const navigate = useNavigate();
  const isList = useRouterState({ select: ({ location }) => location.pathname === "/" });
  return (
    <DropOverlay
      title="Drop to import"
      onFiles={(files) => {
        offerFiles(files);
        if (!isList) void navigate(paths.runs());
      }}
    >
      Files and folders: OpenTelemetry, Langfuse, LangSmith, chat transcripts, Kurral, Prela, Forkpoint bundles
    </DropOverlay>
  );
}
