import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { experimentQuery } from "@/api/replays/experiments";
import { SharedFrame, SharedPage, SharedState } from "@/features/share/SharedPage";
import { fullTime } from "@/ui/format/numbers";
import { experimentTitle } from "../measures";
import { experimentFacts } from "./facts";
import { Results } from "./Results";

const route = getRouteApi("/share/$token/experiment");

/** One experiment with its results for readers without an account. */
export function SharedExperiment(): ReactElement {
  const { token } = route.useParams();
  return (
    <SharedPage token={token} kinds={["experiment"]}>
      {({ subject }) => <Experiment id={subject} />}
    </SharedPage>
  );
}

function Experiment({ id }: { id: string }): ReactElement {
  const { data: view, error, refetch } = useQuery({ ...experimentQuery(id), staleTime: Infinity });
  if (!view) return <SharedState error={error} onRetry={() => void refetch()} />;
  const title = experimentTitle(view);
  return (
    <SharedFrame
      tab={title}
      title={title}
      note={`Experiment with “${view.source_name}” from step ${view.fork_sequence_no} · ${experimentFacts(view)} · ${fullTime(view.created_at)} · read-only`}
    >
      <Results view={view} selection={[]} onChoose={null} />
    </SharedFrame>
  );
}
