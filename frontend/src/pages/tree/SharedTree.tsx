import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { treeQuery } from "@/api/runs/forkTree";
import { SharedFrame, SharedPage, SharedState } from "@/features/share/SharedPage";
import { filterRuns, forkWords, treeTitle } from "./tree";
import { TreeTable } from "./TreeTable";

const route = getRouteApi("/share/$token/tree");

/** The forks of a run for readers without an account. */
export function SharedTree(): ReactElement {
  const { token } = route.useParams();
  return (
    <SharedPage token={token} kinds={["tree"]}>
      {({ subject }) => <Tree root={subject} />}
    </SharedPage>
  );
}

function Tree({ root }: { root: string }): ReactElement {
  const { data: tree, error, refetch } = useQuery(treeQuery(root));
  const first = tree?.runs[0];
  if (!tree || !first) return <SharedState error={error} onRetry={() => void refetch()} />;
  const runs = filterRuns(tree.runs, "asked");
  const title = `Forks of ${treeTitle(first)}`;
  return (
    <SharedFrame tab={title} title={title} note={`${forkWords(runs.length - 1)} Read-only.`}>
      <section className="panel" aria-label="Runs of the tree">
        <TreeTable runs={runs} currentRun={null} selection={null} />
      </section>
    </SharedFrame>
  );
}
