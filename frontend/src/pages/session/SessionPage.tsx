import { Button, Skeleton } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { IconArrowsDiff, IconBinaryTree2, IconGitFork, IconListDetails, IconPlayerStop } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { cancelSession } from "@/api/replays/replays";
import { runQuery } from "@/api/runs/runs";
import type { AttemptView, SessionView, StepSummary } from "@/api/schema";
import { ErrorPage } from "@/app/ErrorPage";
import { paths } from "@/app/paths";
import { forkPlace, runTitle } from "@/domain/runs/title";
import { newerRevision } from "@/domain/runs/revisions";
import { NewerRevisionNotice } from "@/features/runs/NewerRevisionNotice";
import { ShareButton } from "@/features/share/ShareButton";
import { LazyDetails } from "@/ui/LazyDetails";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { Attempts } from "./calls/Attempts";
import { Findings } from "./status/Findings";
import { HookOutcomes } from "./calls/HookOutcomes";
import { hasEnded } from "@/domain/replays/status";
import { LiveText } from "./steps/LiveText";
import { OutputPanel } from "./output/OutputPanel";
import { Plan, PlanFacts } from "./plan/Plan";
import { Consent } from "./question/Consent";
import { Question } from "./question/Question";
import { Status } from "./status/Status";
import { StepsColumn } from "./steps/StepsColumn";
import { Usage } from "./calls/Usage";
import { useSession } from "@/features/replays/useSession";
import classes from "./SessionPage.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";
import { showFailure } from "@/ui/failure/failure";

const route = getRouteApi("/replays/$session");

export function SessionPage(): ReactElement {
  const { session: id } = route.useParams();
  const { session, error, retry, live, steps, connection } = useSession(id);
  usePageTitle(session ? `Replay: ${titleOf(session)}` : "Replay");
  if (error && !session) return <ErrorPage error={error} onRetry={retry} />;
  if (!session) return <SessionSkeleton />;
  return (
    <div className={classes.page}>
      <Header session={session} />
      <Status session={session} steps={steps} connection={connection} attempts={live.attempts} />
      <div className={classes.columns}>
        <StepsColumn session={session} steps={steps} />
        <div className={classes.side}>
          <div className={classes.first}>
            <Question session={session} />
            <Consent session={session} />
            <LiveText session={session} streaming={live.streaming} />
            {!hasEnded(session) && <OutputPanel session={session} outputSeq={live.outputSeq} />}
          </div>
          <div className={classes.rest}>
            <Findings session={session} />
            {hasEnded(session) && <OutputPanel session={session} outputSeq={live.outputSeq} />}
            <HookOutcomes session={session} />
            {!hasEnded(session) && <Attempts attempts={live.attempts} />}
            <Plan session={session} />
            <Details session={session} steps={steps} attempts={live.attempts} />
          </div>
        </div>
      </div>
    </div>
  );
}

/** What few readers need: the policy, the usage, and once the replay has ended, its live calls. */
function Details(props: {
  session: SessionView;
  steps: readonly StepSummary[];
  attempts: readonly AttemptView[];
}): ReactElement {
  const { session, steps, attempts } = props;
  return (
    <LazyDetails className={`panel ${classes.details}`} summary="Details">
      <PlanFacts session={session} steps={steps} />
      {hasEnded(session) && <Attempts attempts={attempts} />}
      <Usage session={session} />
    </LazyDetails>
  );
}

const titleOf = (session: SessionView): string => runTitle({ ...session, name: session.source_name });

function Header({ session }: { session: SessionView }): ReactElement {
  return (
    <header className={classes.header}>
      <div className={classes.titles}>
        <nav className={classes.crumbs} aria-label="Breadcrumb">
          <Link {...paths.activity({ kind: "replay" })}>Activity</Link> /{" "}
          <Link {...paths.run(session.source_run, { step: session.fork_sequence_no })}>{session.source_name}</Link> /
          Replay
        </nav>
        <h1>{titleOf(session)}</h1>
        <p className={classes.fork}>{forkPlace(session, session.fork_sequence_no)}</p>
      </div>
      <Actions session={session} />
      <SourceRevision session={session} />
    </header>
  );
}

/** A link to a newer revision of the source run. The replay belongs to its own revision. */
function SourceRevision({ session }: { session: SessionView }): ReactElement | null {
  const { data: source } = useQuery(runQuery(session.source_run));
  const newer = source ? newerRevision(source) : null;
  if (!newer) return null;
  return (
    <div className={classes.notice}>
      <NewerRevisionNotice newer={newer} subject="the source run" link={paths.run(newer.id)} />
    </div>
  );
}

function Actions({ session }: { session: SessionView }): ReactElement {
  const navigate = useNavigate();
  const isFinished = hasEnded(session);
  const comparison = session.run
    ? session.diff
      ? paths.diff(session.diff)
      : paths.compare({ base: session.source_run, candidate: session.run })
    : null;
  useShortcuts("Replay", [
    ...(isFinished && comparison ? [{ keys: "d", action: "Open the diff", run: () => void navigate(comparison) }] : []),
    ...(session.run
      ? [{ keys: "o", action: "Open the new run", run: () => void navigate(paths.run(session.run ?? "")) }]
      : []),
  ]);
  return (
    <div className={classes.actions}>
      {!isFinished && <Cancel id={session.id} />}
      {session.run && (
        <Button
          variant="default"
          leftSection={<IconListDetails size={15} />}
          renderRoot={(props) => <Link {...paths.run(session.run ?? "")} {...props} />}
        >
          Open the run
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<IconBinaryTree2 size={15} />}
        renderRoot={(props) => <Link {...paths.tree(session.run ?? session.source_run)} {...props} />}
      >
        Tree
      </Button>
      <ShareButton
        subject={{ kind: "replay", id: session.id }}
        group="Replay"
        refusal={isFinished ? undefined : "The replay has not ended"}
      />
      {isFinished && (
        <Button
          variant="default"
          leftSection={<IconGitFork size={15} />}
          renderRoot={(props) => (
            <Link
              {...paths.run(session.source_run, {
                step: session.fork_sequence_no,
                fork: session.fork_sequence_no,
                from_session: session.id,
              })}
              {...props}
            />
          )}
        >
          Fork again
        </Button>
      )}
      {isFinished && comparison && (
        <Button leftSection={<IconArrowsDiff size={15} />} renderRoot={(props) => <Link {...comparison} {...props} />}>
          What changed?
        </Button>
      )}
    </div>
  );
}

function Cancel({ id }: { id: string }): ReactElement {
  const cancel = useMutation({
    mutationFn: () => cancelSession(id),
    onError: (error) => showFailure("The replay was not cancelled", error),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconPlayerStop size={15} />}
      onClick={() => cancel.mutate()}
      loading={cancel.isPending}
      disabled={cancel.isSuccess}
    >
      {cancel.isSuccess ? "Cancelling…" : "Cancel"}
    </Button>
  );
}

/** A page without contents: thin lines where text will stand, because a replay is usually there at once. */
function SessionSkeleton(): ReactElement {
  return (
    <div className={classes.page} aria-busy="true" aria-label="Loading the replay">
      <Skeleton height={14} width={220} />
      <section className={`panel ${classes.loading}`}>
        {[260, 420, 340].map((width) => (
          <Skeleton key={width} height={12} width={`min(${width}px, 80%)`} />
        ))}
      </section>
    </div>
  );
}
