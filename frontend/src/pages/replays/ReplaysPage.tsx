import { Skeleton } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { IconGitFork } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { useLive } from "@/api/live";
import { sessionsQuery } from "@/api/replays";
import type { SessionView } from "@/api/schema";
import { EmptyState } from "@/components/EmptyState";
import { ErrorState } from "@/components/ErrorState";
import { ago, count, money, moment } from "@/components/format";
import { LabelBar } from "@/components/LabelBar";
import { ListPage } from "@/components/ListPage";
import { StateChip } from "@/components/StateChip";
import { useRows } from "@/components/useRows";
import { isOver } from "@/pages/session/live";
import { statusWords, type Tone } from "@/pages/session/progress";
import { paths } from "@/paths";
import list from "@/components/ListPage.module.css";

/** Every replay so far, the last first; those under way move. */
export function ReplaysPage(): ReactElement {
  useDocumentTitle("Replays");
  const client = useQueryClient();
  useLive({ runs: 1 }, () => void client.invalidateQueries({ queryKey: sessionsQuery.queryKey }));
  const { data, error, refetch } = useQuery({
    ...sessionsQuery,
    refetchInterval: (query) => (query.state.data?.sessions.some((session) => !isOver(session)) ? 1000 : false),
  });
  return (
    <ListPage title="Replays" note="A replay runs a recording again from a step on, with what you changed there.">
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={240} radius="md" />}
      {data && <Sessions sessions={data.sessions} />}
    </ListPage>
  );
}

function Sessions({ sessions }: { sessions: readonly SessionView[] }): ReactElement {
  const navigate = useNavigate();
  const { selected, body } = useRows("Replays", sessions.length, (index) => {
    const session = sessions[index];
    if (session) void navigate(paths.replay(session.id));
  });
  if (sessions.length === 0) {
    return (
      <EmptyState
        icon={<IconGitFork size={28} stroke={1.5} />}
        title="Nothing has been replayed yet"
        action={<Link {...paths.runs()}>To the runs</Link>}
      >
        Open a run, pick the step where it went wrong, press <b>f</b>, change one thing and replay.
      </EmptyState>
    );
  }
  return (
    <div className={list.scroll}>
      <table className={list.table}>
        <thead>
          <tr>
            <th scope="col">Replay of</th>
            <th scope="col">State</th>
            <th scope="col" className={list.bar}>
              Labels
            </th>
            <th scope="col" className={list.figure}>
              Steps
            </th>
            <th scope="col" className={list.figure}>
              Live calls
            </th>
            <th scope="col" className={list.figure}>
              Cost
            </th>
            <th scope="col" className={list.figure}>
              Started
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {sessions.map((session, index) => (
            <Row key={session.id} session={session} isSelected={index === selected} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const MARK: Record<Tone, "exact" | "cached" | "simulated" | "failed" | "live" | "accent"> = {
  neutral: "live",
  active: "accent",
  exact: "exact",
  mixed: "cached",
  simulated: "simulated",
  waiting: "simulated",
  failed: "failed",
};

function Row(props: { session: SessionView; isSelected: boolean }): ReactElement {
  const { session } = props;
  const words = statusWords(session.status);
  return (
    <tr data-selected={props.isSelected}>
      <th scope="row">
        <Link {...paths.replay(session.id)} className={list.name}>
          {session.source_name}
        </Link>
        <span className={list.sub}>from step {session.fork_sequence_no}</span>
      </th>
      <td>
        <StateChip mark={MARK[words.tone]} title={words.detail}>
          {words.title}
        </StateChip>
      </td>
      <td className={list.bar}>
        <LabelBar counts={session.counts} />
      </td>
      <td className={list.figure}>
        {isOver(session)
          ? count(session.resolved_steps)
          : `${count(session.resolved_steps)} of ${count(session.planned_steps)}`}
      </td>
      <td className={list.figure}>{count(session.live_calls)}</td>
      <td className={list.figure}>{session.live_calls === 0 ? "$0" : money(session.cost_usd)}</td>
      <td className={list.figure} title={moment(session.created_at)}>
        {ago(session.created_at)}
      </td>
    </tr>
  );
}
