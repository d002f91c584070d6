import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { IconListDetails } from "@tabler/icons-react";
import { use, type ReactElement } from "react";
import { sessionQuery } from "@/api/replays/replays";
import { stepsQuery } from "@/api/runs/runs";
import { paths } from "@/app/paths";
import { forkPlace, runTitle } from "@/domain/runs/title";
import { SharedFrame, SharedPage, SharedState } from "@/features/share/SharedPage";
import { VisitContext } from "@/features/share/visit";
import { fullTime } from "@/ui/format/numbers";
import { Findings } from "./status/Findings";
import { Status } from "./status/Status";
import { StepsColumn } from "./steps/StepsColumn";
import classes from "./SessionPage.module.css";

const route = getRouteApi("/share/$token/replay");

/** One replay with its result for readers without an account. */
export function SharedReplay(): ReactElement {
  const { token } = route.useParams();
  return (
    <SharedPage token={token} kinds={["replay"]}>
      {({ subject }) => <Replay session={subject} />}
    </SharedPage>
  );
}

function Replay({ session: id }: { session: string }): ReactElement {
  const visit = use(VisitContext);
  const { data: session, error, refetch } = useQuery({ ...sessionQuery(id), staleTime: Infinity });
  const run = session?.run ?? null;
  const { data: steps = [] } = useQuery({ ...stepsQuery(run ?? ""), enabled: run !== null });
  if (!session || !visit) return <SharedState error={error} onRetry={() => void refetch()} />;
  const title = runTitle({ ...session, name: session.source_name });
  return (
    <VisitContext value={{ ...visit, run }}>
      <SharedFrame
        tab={`Replay: ${title}`}
        title={title}
        note={`Replay of “${session.source_name}” ${forkPlace(session, session.fork_sequence_no)} · ${fullTime(session.created_at)} · read-only`}
        actions={run && <OpenRun token={visit.token} />}
      >
        <Status session={session} steps={steps} connection="open" attempts={[]} />
        <div className={classes.columns}>
          <StepsColumn session={session} steps={steps} />
          <div className={classes.side}>
            <Findings session={session} />
          </div>
        </div>
      </SharedFrame>
    </VisitContext>
  );
}

function OpenRun({ token }: { token: string }): ReactElement {
  return (
    <Button
      variant="default"
      leftSection={<IconListDetails size={15} />}
      renderRoot={(props) => <Link {...paths.shared("run", token)} {...props} />}
    >
      Open the run
    </Button>
  );
}
