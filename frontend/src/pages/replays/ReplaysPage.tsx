import { useDocumentTitle } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { IconGitFork } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { useLive } from "@/api/live";
import { sessionsQuery } from "@/api/replays/replays";
import type { SessionView } from "@/api/schema";
import { EmptyState } from "@/ui/EmptyState";
import { timeAgo, count, money, fullTime } from "@/ui/format/numbers";
import { LabelBar } from "@/features/labels/LabelBar";
import { OutcomeMark } from "@/features/runs/RunOutcome";
import { ListPage, LoadedList, RowTable, type Column } from "@/ui/ListPage";
import { StateChip } from "@/features/labels/StateChip";
import { hasEnded, statusWords, type Tone } from "@/domain/replays/status";
import { forkPlace, runTitle } from "@/domain/runs/title";
import { paths } from "@/app/paths";
import list from "@/ui/ListPage.module.css";

/** All replays, newest first, updated while they run. */
export function ReplaysPage(): ReactElement {
  useDocumentTitle("Replays");
  const client = useQueryClient();
  useLive({ runs: 1 }, () => void client.invalidateQueries({ queryKey: sessionsQuery.queryKey }));
  const navigate = useNavigate();
  const listing = useQuery({
    ...sessionsQuery,
    refetchInterval: (query) => (query.state.data?.sessions.some((session) => !hasEnded(session)) ? 1000 : false),
  });
  return (
    <ListPage title="Replays" note="A replay runs a recording again from a chosen step, with your changes.">
      <LoadedList listing={listing}>
        {({ sessions }) => (
          <RowTable
            name="Replays"
            columns={COLUMNS}
            rows={sessions}
            empty={<NoReplays />}
            onOpen={(session) => void navigate(paths.replay(session.id))}
          />
        )}
      </LoadedList>
    </ListPage>
  );
}

function NoReplays(): ReactElement {
  return (
    <EmptyState
      icon={<IconGitFork size={28} stroke={1.5} />}
      title="No replays yet"
      action={<Link {...paths.runs()}>Go to runs</Link>}
    >
      Open a run, pick the step where it went wrong, press <b>f</b>, change one thing and replay.
    </EmptyState>
  );
}

const MARK: Record<Tone, "exact" | "cached" | "simulated" | "failed" | "live" | "accent"> = {
  neutral: "live",
  active: "accent",
  exact: "exact",
  mixed: "cached",
  simulated: "cached",
  waiting: "simulated",
  failed: "failed",
};

const COLUMNS: readonly [Column<SessionView>, ...Column<SessionView>[]] = [
  {
    title: "Change",
    cell: (session) => (
      <>
        <Link {...paths.replay(session.id)} className={list.name}>
          {runTitle({ ...session, name: session.source_name })}
        </Link>
        <span className={list.sub}>
          {session.source_name} · {forkPlace(session, session.fork_sequence_no)}
        </span>
      </>
    ),
  },
  { title: "State", cell: (session) => <State session={session} /> },
  { title: "Outcome", cell: ({ outcome }) => outcome && <OutcomeMark outcome={outcome} /> },
  { title: "Labels", className: list.bar, cell: ({ counts }) => <LabelBar counts={counts} /> },
  {
    title: "Steps",
    className: list.figure,
    cell: (session) =>
      hasEnded(session)
        ? count(session.resolved_steps)
        : `${count(session.resolved_steps)} of ${count(session.planned_steps)}`,
  },
  { title: "Live calls", className: list.figure, cell: (session) => count(session.live_calls) },
  {
    title: "Cost",
    className: list.figure,
    cell: (session) => (session.live_calls === 0 ? "$0" : money(session.cost_usd)),
  },
  {
    title: "Started",
    className: list.figure,
    cell: (session) => timeAgo(session.created_at),
    hint: (session) => fullTime(session.created_at),
  },
];

function State({ session }: { session: SessionView }): ReactElement {
  const words = statusWords(session.status);
  return (
    <StateChip mark={MARK[words.tone]} title={words.detail}>
      {words.title}
    </StateChip>
  );
}
