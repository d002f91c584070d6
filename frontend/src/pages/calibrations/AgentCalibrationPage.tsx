import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Navigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { agentCalibrationQuery } from "@/api/replays/calibrations";
import type { AgentCalibrationView } from "@/api/schema";
import { paths } from "@/app/paths";
import { statusWords } from "@/domain/replays/status";
import { RunnerWait } from "@/features/runners/RunnerWait";
import { LoadedList } from "@/ui/ListPage";
import { Page, PageHeader } from "@/ui/Page";
import classes from "./Calibration.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/calibrations/by-agent/$calibration");

/** The progress of a calibration whose two runs an agent makes. It becomes the comparison. */
export function AgentCalibrationPage(): ReactElement {
  const { calibration } = route.useParams();
  usePageTitle("Matching");
  const listing = useQuery(agentCalibrationQuery(calibration));
  return (
    <Page>
      <LoadedList listing={listing}>
        {(data) =>
          data.calibration === null ? (
            <Starts progress={data} />
          ) : (
            <Navigate {...paths.calibration(data.calibration)} replace />
          )
        }
      </LoadedList>
    </Page>
  );
}

function Starts({ progress }: { progress: AgentCalibrationView }): ReactElement {
  return (
    <>
      <PageHeader
        crumbs={[<Link {...paths.settings()}>Settings</Link>, <Link {...paths.matching()}>Matching</Link>]}
        title={`Fields to ignore when matching calls in ${progress.app}`}
        note={
          <>
            A runner starts the agent of <Link {...paths.run(progress.run)}>{progress.run_name}</Link> twice. Only the
            recording answers its calls, and what differs between the two runs is compared.
          </>
        }
      />
      <section className="panel" aria-label="Starts of the agent">
        <ul className={classes.rules}>
          {progress.starts.map(({ session, status }, index) => (
            <li key={session}>
              <Link {...paths.replay(session)}>Start {index + 1}</Link>
              <span className="muted">{statusWords({ status, engine: "agent", question: null }).detail}</span>
            </li>
          ))}
        </ul>
        {progress.error !== "" && (
          <p className={`${classes.none} failed`} role="alert">
            There is nothing to compare: {progress.error}
          </p>
        )}
      </section>
      <RunnerWait text={progress.waits_for} />
    </>
  );
}
