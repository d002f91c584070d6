import { Skeleton, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { IconSearch, IconTool } from "@tabler/icons-react";
import { useMemo, useRef, useState, type ReactElement } from "react";
import type { ToolChoice, ToolView } from "@/api/schema";
import { toolsQuery } from "@/api/tools/tools";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorState } from "@/ui/ErrorState";
import { pluralize } from "@/ui/format/numbers";
import { Kbd } from "@/ui/keyboard/Kbd";
import { paths, serverPaths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { AcceptSuggestions } from "./AcceptSuggestions";
import { ConfirmSafe } from "./ConfirmSafe";
import { inDisplayOrder, needsConfirmation, safeSuggestions } from "./review";
import { matching } from "../search";
import { RoleNote } from "./RoleNote";
import { SelectionActions } from "./SelectionActions";
import page from "../ToolsPage.module.css";
import { ToolsTable } from "./ToolsTable";

const route = getRouteApi("/tools");

interface Props {
  isAdmin: boolean;
  onDecide: (decision: { choices: ToolChoice[]; asSuggested?: boolean }) => void;
}

/** The list of tools, with its search, and the decisions about one or several of them. */
export function ToolsPanel({ isAdmin, onDecide }: Props): ReactElement {
  const { data, error, refetch } = useQuery(toolsQuery);
  const tools = useDisplayOrder(data?.tools);
  if (!data) return error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <Skeleton height={240} />;
  if (data.tools.length > 0) return <Review tools={tools} isAdmin={isAdmin} onDecide={onDecide} />;
  return (
    <EmptyState
      icon={<IconTool size={28} stroke={1.5} />}
      title="No tool calls recorded yet"
      action={<Link {...paths.runs()}>Go to runs</Link>}
    >
      Import or record a run of an agent with tools. Each tool appears here with a suggestion based on its name and
      description, for you to review.
    </EmptyState>
  );
}

function Review({ tools, isAdmin, onDecide }: Props & { tools: readonly ToolView[] }): ReactElement {
  const { q } = route.useSearch();
  const visibleTools = useMemo(() => matching(tools, q), [tools, q]);
  const [selectedNames, setSelectedNames] = useState<ReadonlySet<string>>(new Set());
  // A tool that the search hides is not a part of the selection.
  const selectedTools = visibleTools.filter(({ name }) => selectedNames.has(name));
  const { decide, confirmation } = useDecisions({ isAdmin, onDecide });
  useShortcuts("Tools", [
    { keys: "", action: "Export side_effects.yaml", run: () => window.location.assign(serverPaths.toolsFile) },
  ]);
  const unreviewedCount = tools.filter(({ safe }) => safe === null).length;
  const [firstTool, ...otherTools] = selectedTools;
  return (
    <div className={page.content}>
      <div className={page.bar}>
        <SearchField />
        {firstTool ? (
          <SelectionActions
            tools={[firstTool, ...otherTools]}
            isAdmin={isAdmin}
            onDecide={(safe) => decide(selectedTools, safe)}
            onClear={() => setSelectedNames(new Set())}
          />
        ) : (
          <>
            <span className="muted num grow" role="status">
              {pluralize(visibleTools.length, "tool")}
              {unreviewedCount > 0 ? `, ${unreviewedCount} not reviewed` : ", all reviewed"}
            </span>
            <RoleNote />
            <AcceptSuggestions
              tools={safeSuggestions(visibleTools)}
              isAdmin={isAdmin}
              onAccept={(choices) =>
                onDecide({ choices: choices.map(({ name }) => ({ name, safe: true })), asSuggested: true })
              }
            />
          </>
        )}
      </div>
      {visibleTools.length === 0 ? (
        <EmptyState
          icon={<IconSearch size={28} stroke={1.5} />}
          title="No matching tools"
          action={<Link {...paths.tools()}>Show all tools</Link>}
        />
      ) : (
        <ToolsTable
          tools={visibleTools}
          selectedNames={selectedNames}
          isAdmin={isAdmin}
          onSelect={setSelectedNames}
          onDecide={(tool, safe) => decide([tool], safe)}
        />
      )}
      {confirmation}
    </div>
  );
}

/** Decide about tools; one dialog confirms all that may have side effects. */
function useDecisions({ isAdmin, onDecide }: Props) {
  const [pendingTools, setPendingTools] = useState<readonly ToolView[]>([]);
  const save = (tools: readonly ToolView[], safe: boolean | null) =>
    onDecide({ choices: tools.map(({ name }) => ({ name, safe })) });
  const decide = (tools: readonly ToolView[], safe: boolean | null) => {
    const changes = tools.filter((tool) => tool.safe !== safe);
    if (!isAdmin || changes.length === 0) return;
    if (changes.some((tool) => needsConfirmation(tool, safe))) setPendingTools(changes);
    else save(changes, safe);
  };
  const [firstRisk, ...otherRisks] = pendingTools.filter((tool) => needsConfirmation(tool, true));
  const confirmation = firstRisk && (
    <ConfirmSafe
      tools={[firstRisk, ...otherRisks]}
      onConfirm={() => save(pendingTools, true)}
      onClose={() => setPendingTools([])}
    />
  );
  return { decide, confirmation };
}

function SearchField(): ReactElement {
  const { q } = route.useSearch();
  const navigate = useNavigate();
  const field = useRef<HTMLInputElement>(null);
  useShortcuts("Tools: search", [{ keys: "/", action: "Search tools", run: () => field.current?.select() }]);
  return (
    <TextInput
      ref={field}
      className={page.search}
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
  );
}

/** The tools in a stable order: a moving row would put another tool under the pointer. */
function useDisplayOrder(tools: readonly ToolView[] | undefined): readonly ToolView[] {
  const [names, setNames] = useState<readonly string[]>([]);
  const orderedTools = useMemo(() => inDisplayOrder(tools ?? [], names), [tools, names]);
  if (orderedTools.length !== names.length) setNames(orderedTools.map(({ name }) => name));
  return orderedTools;
}
