import { Progress } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { bisectionQuery, cancelBisection } from "@/api/replays/bisections";
import { useLive } from "@/api/live";
import type { BisectionView } from "@/api/schema";
import { ErrorState } from "@/ui/ErrorState";
import { count, pluralize, money } from "@/ui/format/numbers";
import { sentence } from "@/ui/format/text";
import { StopButton } from "@/ui/buttons/StopButton";
import { RunnerWait } from "@/features/runners/RunnerWait";
import { StateChip } from "@/features/labels/StateChip";
import { Page, PageHeader, PageLoading } from "@/ui/Page";
import { ConfidenceLevel } from "@/features/diffs/ConfidenceLevel";
import { describeOverride } from "@/domain/overrides/details";
import { paths } from "@/app/paths";
import { BisectionState } from "./BisectionState";
import { ReplaysTable } from "./ReplaysTable";
import { Timeline } from "./Timeline";
import { forkName, REPRODUCTION, RESCUE, type VerdictWording } from "./wording";
import classes from "./Bisect.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/bisections/$bisection");

/** The result of a bisection: the point of no return, and the replays that show it. */
export function BisectionPage(): ReactElement {
  const { bisection: id } = route.useParams();
  const client = useQueryClient();
  const query = bisectionQuery(id);
  const { data: view, error, refetch } = useQuery(query);
  useLive(
    view?.status === "running" ? { bisection: id } : null,
    (message) => {
      if (message.type === "bisection") client.setQueryData(query.queryKey, message.bisection);
    },
    view?.seq,
  );
  usePageTitle(view ? `Bisection of ${view.run_name}` : "Bisection");
  if (error && !view) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!view) return <PageLoading name="the bisection" panels={[180, 320]} />;
  return (
    <Page>
      <Header view={view} />
      <Verdicts view={view} />
      <section className="panel" aria-labelledby="tried">
        <header className={classes.head}>
          <h2 id="tried">Replayed from</h2>
          <span className="muted num">
            {count(view.result.forks.length)} of {pluralize(view.forks, "step")} tried. Steps before the fork stay as
            recorded.
          </span>
        </header>
        <Timeline view={view} />
      </section>
      <section className="panel" aria-labelledby="replays">
        <header className={classes.head}>
          <h2 id="replays">Replays</h2>
          <span className="muted">Equal answers from one step share a row.</span>
        </header>
        <ReplaysTable probes={view.results} />
      </section>
    </Page>
  );
}

function Header({ view }: { view: BisectionView }): ReactElement {
  const finishedReplays = view.results.filter(({ verdict }) => verdict !== "running").length;
  return (
    <PageHeader
      crumbs={[
        <Link {...paths.activity({ kind: "bisection" })}>Activity</Link>,
        <Link {...paths.run(view.run)}>{view.run_name}</Link>,
        ...(view.diff === null ? [] : [<Link {...paths.diff(view.diff)}>Diff</Link>]),
        "Bisection",
      ]}
      title="Where did it go wrong?"
      note={<Subject view={view} />}
      state={
        <>
          <BisectionState status={view.status} />
          <span className="muted num">
            {pluralize(finishedReplays, "replay")} · {pluralize(view.live_calls, "live call")} ·{" "}
            {view.cost_usd === null ? "cost unknown" : money(view.cost_usd)}
          </span>
        </>
      }
      progress={
        view.status === "running" && <Progress value={100} animated size={4} aria-label="Replays are running" />
      }
    >
      {view.status === "running" && <Cancel id={view.id} />}
    </PageHeader>
  );
}

/** Which run is bisected, and of a diff, which of its two. */
function Subject({ view }: { view: BisectionView }): ReactElement {
  return (
    <>
      Bisects <Link {...paths.run(view.run)}>{view.run_name}</Link>
      {view.diff !== null && view.side !== null && (
        <>
          , the {view.side} of a <Link {...paths.diff(view.diff)}>diff</Link>
        </>
      )}
    </>
  );
}

function Verdicts({ view }: { view: BisectionView }): ReactElement {
  const { result, recorded } = view;
  const { commit } = result;
  const failing = recorded.filter(({ passed }) => !passed);
  const changes = view.request.overrides.overrides
    .flatMap((override) => describeOverride(override).sets.map(({ name, value }) => `${name} ${value.slice(0, 60)}`))
    .join(", ");
  const repeatCount = result.repeats.passed + result.repeats.failed;
  return (
    <section className={`panel ${classes.verdict}`} aria-label="Verdict">
      <div className={classes.top}>
        <div>
          <h2 className={classes.headline}>{result.headline}</h2>
          <p className={classes.sentence}>{withoutHeadline(result) || "The first replays are running."}</p>
        </div>
        {commit && <ConfidenceLevel confidence={commit.confidence} means={commit.why} />}
      </div>
      {view.status === "failed" && <p className="failed">{view.error}</p>}
      <RunnerWait text={view.waits_for} />
      <dl className={classes.verdicts}>
        <Answer question="Does the failure come back?" answer={REPRODUCTION[result.reproduction]}>
          {repeatCount > 0 && `${result.repeats.failed} of ${repeatCount} replays from the start failed`}
        </Answer>
        <Answer question="Can a new attempt pass?" answer={RESCUE[result.rescue]}>
          {changes && `with ${changes}`}
        </Answer>
        {commit && (
          <div>
            <dt>Point of no return</dt>
            <dd>
              <Link {...paths.run(view.run, { step: commit.step.sequence_no })} className={classes.step}>
                {forkName(commit.step)}
                {commit.settled ? "" : ", or later"}
              </Link>
              <span className={classes.reason}>{sentence(commit.why)}</span>
            </dd>
          </div>
        )}
        <div>
          <dt>Failing checks</dt>
          <dd>
            {failing.map(({ name, detail }) => (
              <span key={name} className={classes.reason}>
                <b>{name}</b>: {detail}
              </span>
            ))}
          </dd>
        </div>
      </dl>
      {result.remarks.length > 0 && (
        <ul className={classes.remarks}>
          {result.remarks.map((remark) => (
            <li key={remark}>{remark}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The explanation, without the headline that stands above it. */
function withoutHeadline({ headline, sentence: explanation }: BisectionView["result"]): string {
  const rest = explanation.startsWith(headline)
    ? explanation.slice(headline.length).replace(/^[.:] /, "")
    : explanation;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

function Answer(props: { question: string; answer: VerdictWording; children: ReactNode }): ReactElement {
  return (
    <div>
      <dt>{props.question}</dt>
      <dd>
        <StateChip mark={props.answer.mark}>{props.answer.title}</StateChip>
        {props.children && <span className={classes.reason}>{props.children}</span>}
      </dd>
    </div>
  );
}

function Cancel({ id }: { id: string }): ReactElement {
  const client = useQueryClient();
  return (
    <StopButton
      stop={() => cancelBisection(id)}
      onStopped={(view) => client.setQueryData(bisectionQuery(id).queryKey, view)}
      failureTitle="The bisection was not cancelled"
    >
      Cancel
    </StopButton>
  );
}
