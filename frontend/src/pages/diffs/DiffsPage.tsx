import { Button, Skeleton } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { IconArrowsDiff, IconPlus } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { diffsQuery } from "@/api/diffs";
import type { DiffSummary } from "@/api/schema";
import { EmptyState } from "@/components/EmptyState";
import { ErrorState } from "@/components/ErrorState";
import { ago, moment } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { StateChip } from "@/components/StateChip";
import { useRows } from "@/components/useRows";
import { score } from "@/pages/diff/deltas";
import { candidateName, CONFIDENCE } from "@/pages/diff/words";
import { paths } from "@/paths";
import { useShortcuts } from "@/shell/keyboard";
import list from "@/components/ListPage.module.css";

/** Every report so far, the last first. */
export function DiffsPage(): ReactElement {
  useDocumentTitle("Diffs");
  const navigate = useNavigate();
  const { data, error, refetch } = useQuery(diffsQuery);
  useShortcuts("Diffs", [{ keys: "c", does: "Compare two runs", run: () => void navigate(paths.compare()) }]);
  return (
    <ListPage
      title="Diffs"
      note="What changed between two runs, and what caused it."
      action={
        <Button leftSection={<IconPlus size={14} />} renderRoot={(props) => <Link {...paths.compare()} {...props} />}>
          Compare two runs
        </Button>
      }
    >
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={240} radius="md" />}
      {data && <Diffs diffs={data.diffs} />}
    </ListPage>
  );
}

function Diffs({ diffs }: { diffs: readonly DiffSummary[] }): ReactElement {
  const navigate = useNavigate();
  const { selected, body } = useRows("Diffs", diffs.length, (index) => {
    const diff = diffs[index];
    if (diff) void navigate(paths.diff(diff.id));
  });
  if (diffs.length === 0) {
    return (
      <EmptyState
        icon={<IconArrowsDiff size={28} stroke={1.5} />}
        title="Nothing has been compared yet"
        action={<Link {...paths.compare()}>Compare two runs</Link>}
      >
        Replay a run with a change and open its diff, or compare any two recordings.
      </EmptyState>
    );
  }
  return (
    <div className={list.scroll}>
      <table className={list.table}>
        <thead>
          <tr>
            <th scope="col">Base and candidate</th>
            <th scope="col" className={list.wide}>
              Verdict
            </th>
            <th scope="col">Confidence</th>
            <th scope="col" className={list.figure}>
              ARS
            </th>
            <th scope="col" className={list.figure}>
              Made
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {diffs.map((diff, index) => (
            <Row key={diff.id} diff={diff} isSelected={index === selected} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row(props: { diff: DiffSummary; isSelected: boolean }): ReactElement {
  const { diff } = props;
  const confidence = diff.confidence && CONFIDENCE[diff.confidence];
  return (
    <tr data-selected={props.isSelected}>
      <th scope="row">
        <Link {...paths.diff(diff.id)} className={list.name}>
          {diff.base.name}
        </Link>
        <span className={list.sub}>{candidateName(diff)}</span>
      </th>
      <td className={list.wide}>{diff.sentence}</td>
      <td>
        {confidence && (
          <StateChip mark={confidence.mark} title={confidence.means}>
            {confidence.words.replace(" confidence", "")}
          </StateChip>
        )}
      </td>
      <td className={list.figure}>{score(diff.ars)}</td>
      <td className={list.figure} title={moment(diff.created_at)}>
        {ago(diff.created_at)}
      </td>
    </tr>
  );
}
