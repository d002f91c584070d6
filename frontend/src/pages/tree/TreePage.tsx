import { Button, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { IconArrowsDiff } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { useLive } from "@/api/live";
import type { RunTree } from "@/api/schema";
import { treeQuery } from "@/api/runs/forkTree";
import { ErrorPage } from "@/app/ErrorPage";
import { pluralize } from "@/ui/format/numbers";
import { Page, PageHeader, PageLoading } from "@/ui/Page";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { ShareButton } from "@/features/share/ShareButton";
import { chooseRun, filterRuns, forkWords, isProbe, ORIGIN, type TreeFilter } from "./tree";
import { TreeTable } from "./TreeTable";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/tree/$run");

/** A recorded run and all of its forks. */
export function TreePage(): ReactElement {
  const { run } = route.useParams();
  const { data: tree, error, refetch } = useQuery(treeQuery(run));
  useLive({ runs: 1 }, () => void refetch());
  const root = tree?.runs[0];
  usePageTitle(root ? `Forks of ${root.name}` : "Fork tree");
  if (error && !tree) return <ErrorPage error={error} onRetry={() => void refetch()} />;
  if (!tree) return <PageLoading name="the tree" panels={[160, 320]} />;
  return <Tree tree={tree} />;
}

function Tree({ tree }: { tree: RunTree }): ReactElement {
  const [filter, setFilter] = useState<TreeFilter>("asked");
  const [selection, choose] = useState<string[]>([]);
  const runs = filterRuns(tree.runs, filter);
  const onChoose = (id: string) => choose((current) => chooseRun(current, id));
  return (
    <Page>
      <Header tree={tree} filter={filter} onFilter={setFilter} selection={selection} />
      {tree.left_out > 0 && (
        <p className="muted">{pluralize(tree.left_out, "more fork")} not shown. This page lists the first 1,000.</p>
      )}
      <section className="panel" aria-label="Runs of the tree">
        <TreeTable runs={runs} currentRun={tree.asked} selection={selection} onChoose={onChoose} />
      </section>
    </Page>
  );
}

function Header(props: {
  tree: RunTree;
  filter: TreeFilter;
  onFilter: (filter: TreeFilter) => void;
  selection: readonly string[];
}): ReactElement {
  const { tree, filter, selection } = props;
  const navigate = useNavigate();
  const root = tree.runs[0];
  const [base, candidate] = tree.runs.map(({ id }) => id).filter((id) => selection.includes(id));
  const comparison = base && candidate ? paths.compare({ base, candidate }) : null;
  useShortcuts("Fork tree", [
    ...(comparison
      ? [{ keys: "d", action: "Compare the two selected runs", run: () => void navigate(comparison) }]
      : []),
  ]);
  const probes = tree.runs.filter(isProbe).length;
  const origins = [...new Set(tree.runs.map(({ origin }) => origin))].filter((origin) => origin !== "recorded");
  return (
    <PageHeader
      crumbs={[<Link {...paths.runs()}>Runs</Link>, <Link {...paths.run(tree.root)}>{root?.name}</Link>]}
      title={`Forks of ${root?.name ?? "the run"}`}
      note={forkWords(tree.runs.length - 1, probes)}
    >
      {(origins.length > 1 || probes > 0) && (
        <Select
          aria-label="Forks to show"
          data={[
            { value: "asked", label: "Forks without probes" },
            { value: "all", label: "All forks" },
            ...origins.map((value) => ({ value, label: ORIGIN[value] })),
          ]}
          value={filter}
          allowDeselect={false}
          onChange={(value) => props.onFilter(value ?? "asked")}
        />
      )}
      <ShareButton subject={{ kind: "tree", id: tree.root }} group="Fork tree" />
      {comparison ? (
        <Button leftSection={<IconArrowsDiff size={15} />} renderRoot={(props) => <Link {...comparison} {...props} />}>
          Compare
        </Button>
      ) : (
        <span className="muted">
          {selection.length === 1 ? "Select one more run to compare" : "Select two runs to compare"}
        </span>
      )}
    </PageHeader>
  );
}
