import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { acceptProposals, calibrationQuery, ignoreListsQuery } from "@/api/replays/calibrations";
import type { CalibrationView, IgnoreRule } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { LoadedList } from "@/ui/ListPage";
import { Page, PageHeader } from "@/ui/Page";
import { paths } from "@/app/paths";
import classes from "./Calibration.module.css";
import { CurrentList } from "./CurrentList";
import { Differences } from "./Differences";
import { ProposalsTable } from "./ProposalsTable";
import { initialChoice } from "./rules";
import { usePageTitle } from "@/ui/brand/usePageTitle";
import { showFailure } from "@/ui/failure/failure";

const route = getRouteApi("/calibrations/$calibration");

/** Two recordings of the same task: fields that differ without significance, and the effect of ignoring them. */
export function CalibrationPage(): ReactElement {
  const { calibration } = route.useParams();
  usePageTitle("Matching");
  const listing = useQuery(calibrationQuery(calibration));
  return (
    <Page>
      <LoadedList listing={listing}>{(data) => <Calibration key={data.id} calibration={data} />}</LoadedList>
    </Page>
  );
}

function Calibration({ calibration }: { calibration: CalibrationView }): ReactElement {
  const { data: lists } = useQuery(ignoreListsQuery(calibration.app));
  const [newest] = lists?.lists ?? [];
  const currentRules: IgnoreRule[] = newest?.rules ?? calibration.current?.rules ?? [];
  return (
    <>
      <PageHeader
        crumbs={[<Link {...paths.settings()}>Settings</Link>, <Link {...paths.matching()}>Matching</Link>]}
        title={`Fields to ignore when matching calls in ${calibration.app}`}
        note={
          <>
            <Link {...paths.run(calibration.base)}>{calibration.base_name}</Link> and{" "}
            <Link {...paths.run(calibration.candidate)}>{calibration.candidate_name}</Link> are compared as recordings
            of the same task. {summary(calibration)}
          </>
        }
      />
      <Proposals calibration={calibration} currentRules={currentRules} />
      <CurrentList app={calibration.app} newest={newest} />
      <Differences calibration={calibration} />
    </>
  );
}

function Proposals({
  calibration,
  currentRules,
}: {
  calibration: CalibrationView;
  currentRules: readonly IgnoreRule[];
}): ReactElement {
  const { proposals } = calibration;
  const [selection, setSelection] = useState(() => initialChoice(proposals, calibration.current?.rules ?? []));
  const client = useQueryClient();
  const accept = useMutation({
    mutationFn: () => acceptProposals(calibration.id, selection),
    onSuccess: () => {
      setSelection([]);
      return client.invalidateQueries({ queryKey: ["ignore-lists", calibration.app] });
    },
    onError: (error) => showFailure("The fields were not saved", error),
  });
  return (
    <section className="panel" aria-labelledby="proposals">
      <header className={classes.head}>
        <h2 id="proposals">Insignificant differences</h2>
        <span className="grow" />
        <Button
          disabled={selection.length === 0}
          title={selection.length === 0 ? "Select the fields to ignore" : undefined}
          loading={accept.isPending}
          onClick={() => accept.mutate()}
        >
          Ignore {selection.length > 0 && pluralize(selection.length, "field")}
        </Button>
      </header>
      {proposals.length === 0 ? (
        <p className={classes.none}>No differing field looks like a time, an id or a counter.</p>
      ) : (
        <ProposalsTable
          calibration={calibration}
          currentRules={currentRules}
          selection={selection}
          onChoose={setSelection}
        />
      )}
    </section>
  );
}

function summary(calibration: CalibrationView): string {
  const { compared, differing, unified, left_out: leftOut, unchecked } = calibration;
  const stepCounts =
    (leftOut > 0 ? ` Only the first ${differing - leftOut} were examined.` : "") +
    (unchecked > 0 ? ` ${pluralize(unchecked, "call")} not checked for false matches.` : "");
  if (differing === 0) return `No differences in ${pluralize(compared, "call")}, so there is nothing to ignore.`;
  return `${differing} of ${pluralize(compared, "call")} differ. Ignoring all fields below makes ${unified.length} of them match.${stepCounts}`;
}
