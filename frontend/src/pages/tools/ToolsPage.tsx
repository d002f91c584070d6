import { Button, FileButton, SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { IconDownload, IconUpload } from "@tabler/icons-react";
import { useRef, type ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { BlockableButton } from "@/ui/buttons/BlockableButton";
import { ListPage } from "@/ui/ListPage";
import { paths, serverPaths } from "@/app/paths";
import { RetrieversPanel } from "./retrievers/RetrieversPanel";
import classes from "./ToolsPage.module.css";
import { ToolsPanel } from "./review/ToolsPanel";
import { useReview } from "./review/useReview";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/tools");

/** Tools and retrievers that a replay can use. */
export function ToolsPage(): ReactElement {
  const { tab } = route.useSearch();
  const navigate = useNavigate();
  const { data: access } = useQuery(accessQuery);
  const isAdmin = access?.role === "admin";
  const review = useReview();
  const activeTab = tab ?? "tools";
  usePageTitle(activeTab === "tools" ? "Tools" : "Retrievers");
  return (
    <ListPage
      title="Tools"
      note={NOTES[activeTab]}
      action={
        <div className={classes.actions}>
          <SegmentedControl
            aria-label="Tools or retrievers"
            value={activeTab}
            data={[
              { value: "tools", label: "Tools" },
              { value: "retrievers", label: "Retrievers" },
            ]}
            onChange={(value) => void navigate(paths.tools(value === "retrievers" ? { tab: value } : {}))}
          />
          {activeTab === "tools" && (
            <FileActions isAdmin={isAdmin} isBusy={review.file.isPending} onFile={(file) => review.file.mutate(file)} />
          )}
        </div>
      }
    >
      {activeTab === "tools" ? (
        <ToolsPanel isAdmin={isAdmin} onDecide={review.decision.mutate} />
      ) : (
        <RetrieversPanel isAdmin={isAdmin} />
      )}
    </ListPage>
  );
}

const NOTES = {
  tools:
    "Replays run only tools reviewed as safe. Side effects never run: their recorded answer is used, or the call is blocked.",
  retrievers:
    "Replays can search again if their policy allows it. Searches only read. The first retriever that serves a step answers it.",
};

function FileActions(props: { isAdmin: boolean; isBusy: boolean; onFile: (file: File) => void }): ReactElement {
  const picker = useRef<() => void>(null);
  return (
    <>
      <FileButton
        resetRef={picker}
        accept=".yaml,.yml"
        onChange={(file) => {
          if (file) props.onFile(file);
          // Allow the same file to be chosen again.
          picker.current?.();
        }}
      >
        {(button) => (
          <BlockableButton
            {...button}
            variant="default"
            leftSection={<IconUpload size={14} />}
            loading={props.isBusy}
            isBlocked={!props.isAdmin}
            reason="Only admins can review tools"
          >
            Import YAML
          </BlockableButton>
        )}
      </FileButton>
      <Button
        variant="default"
        leftSection={<IconDownload size={14} />}
        renderRoot={(root) => <a href={serverPaths.toolsFile} download="side_effects.yaml" {...root} />}
      >
        Export YAML
      </Button>
    </>
  );
}
