import { Button, FileButton, SegmentedControl, Skeleton, TextInput, Tooltip } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { IconDownload, IconSearch, IconTool, IconUpload } from "@tabler/icons-react";
import { useMemo, useRef, useState, type ReactElement } from "react";
import { accessQuery } from "@/api/access";
import type { ToolView } from "@/api/schema";
import { toolsQuery } from "@/api/tools/tools";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorState } from "@/ui/ErrorState";
import { pluralize } from "@/ui/format/numbers";
import { Kbd } from "@/ui/keyboard/Kbd";
import { ListPage } from "@/ui/ListPage";
import { paths, serverPaths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { RetrieversPanel } from "./retrievers/RetrieversPanel";
import { inDisplayOrder } from "./review/review";
import { matching } from "./search";
import classes from "./ToolsPage.module.css";
import { ToolsTable } from "./review/ToolsTable";
import { useReview } from "./review/useReview";

const route = getRouteApi("/tools");

/** Tools and retrievers that a replay can use. */
export function ToolsPage(): ReactElement {
  const { tab } = route.useSearch();
  const navigate = useNavigate();
  const { data: access } = useQuery(accessQuery);
  const isAdmin = access?.role === "admin";
  const review = useReview();
  const activeTab = tab ?? "tools";
  useDocumentTitle(activeTab === "tools" ? "Tools" : "Retrievers");
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
        <ToolsPanel isAdmin={isAdmin} onDecide={(name, safe) => review.decision.mutate([{ name, safe }])} />
      ) : (
        <RetrieversPanel isAdmin={isAdmin} />
      )}
    </ListPage>
  );
}

const NOTES = {
  tools:
    "A replay only runs tools that were reviewed as safe. Side effects never run: their recorded answer is used, or the call is blocked.",
  retrievers:
    "A replay can search again if its policy allows it. Searches only read. The first retriever that serves a step answers it.",
};

function ToolsPanel(props: { isAdmin: boolean; onDecide: (name: string, safe: boolean | null) => void }): ReactElement {
  const { q } = route.useSearch();
  const navigate = useNavigate();
  const searchField = useRef<HTMLInputElement>(null);
  const { data, error, refetch } = useQuery(toolsQuery);
  const tools = useDisplayOrder(data?.tools);
  const visibleTools = useMemo(() => matching(tools, q), [tools, q]);
  const unreviewedCount = data?.tools.filter(({ safe }) => safe === null).length ?? 0;
  useShortcuts("Tools", [
    { keys: "/", action: "Search tools", run: () => searchField.current?.select() },
    { keys: "", action: "Export side_effects.yaml", run: () => window.location.assign(serverPaths.toolsFile) },
  ]);
  return (
    <>
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={240} radius="md" />}
      {data?.tools.length === 0 && (
        <EmptyState
          icon={<IconTool size={28} stroke={1.5} />}
          title="No tool calls recorded yet"
          action={<Link {...paths.runs()}>Go to runs</Link>}
        >
          Import or record a run of an agent with tools. Each tool appears here with a suggestion based on its name and
          description, for you to review.
        </EmptyState>
      )}
      {data && data.tools.length > 0 && (
        <div className={classes.content}>
          <div className={classes.bar}>
            <TextInput
              ref={searchField}
              className={classes.search}
              value={q ?? ""}
              onChange={(event) =>
                void navigate({
                  ...paths.tools(event.currentTarget.value ? { q: event.currentTarget.value } : {}),
                  replace: true,
                })
              }
              onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
              placeholder="Search names, apps, descriptions"
              aria-label="Search tools"
              leftSection={<IconSearch size={14} />}
              rightSection={<Kbd>/</Kbd>}
            />
            <span className="muted num" role="status">
              {pluralize(visibleTools.length, "tool")}
              {unreviewedCount > 0 ? `, ${unreviewedCount} not reviewed` : ", all reviewed"}
            </span>
          </div>
          {visibleTools.length === 0 ? (
            <EmptyState
              icon={<IconSearch size={28} stroke={1.5} />}
              title="No matching tools"
              action={<Link {...paths.tools()}>Show all tools</Link>}
            />
          ) : (
            <ToolsTable tools={visibleTools} isAdmin={props.isAdmin} onDecide={props.onDecide} />
          )}
        </div>
      )}
    </>
  );
}

/** The tools in a stable order: a moving row would put another tool under the pointer. */
function useDisplayOrder(tools: readonly ToolView[] | undefined): readonly ToolView[] {
  const [names, setNames] = useState<readonly string[]>([]);
  const orderedTools = useMemo(() => inDisplayOrder(tools ?? [], names), [tools, names]);
  if (orderedTools.length !== names.length) setNames(orderedTools.map(({ name }) => name));
  return orderedTools;
}

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
          <Tooltip label="Only administrators can review tools" disabled={props.isAdmin}>
            <Button
              {...button}
              variant="default"
              leftSection={<IconUpload size={14} />}
              loading={props.isBusy}
              data-disabled={!props.isAdmin || undefined}
              aria-disabled={!props.isAdmin}
              onClick={props.isAdmin ? button.onClick : undefined}
            >
              Import YAML
            </Button>
          </Tooltip>
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
