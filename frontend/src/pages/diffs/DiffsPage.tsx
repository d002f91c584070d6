import { Button } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { IconArrowsDiff, IconPlus } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { diffsQuery } from "@/api/diffs";
import type { DiffSummary } from "@/api/schema";
import { EmptyState } from "@/components/EmptyState";
import { ago, moment } from "@/components/format";
import { ListPage, Loaded, RowTable } from "@/components/ListPage";
import { StateChip } from "@/components/StateChip";
import { score } from "@/pages/diff/deltas";
import { candidateName, CONFIDENCE } from "@/pages/diff/words";
import { paths } from "@/paths";
import { useShortcuts } from "@/shell/keyboard";
import list from "@/components/ListPage.module.css";

/** Every report so far, the last first. */
export function DiffsPage(): ReactElement {
  useDocumentTitle("Diffs");
  const navigate = useNavigate();
  const listing = useQuery(diffsQuery);
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
      <Loaded listing={listing}>
        {({ diffs }) => (
          <RowTable
            name="Diffs"
            columns={COLUMNS}
            rows={diffs}
            empty={<Nothing />}
            onOpen={(diff) => void navigate(paths.diff(diff.id))}
          >
            {(diff) => <Cells diff={diff} />}
          </RowTable>
        )}
      </Loaded>
    </ListPage>
  );
}

const COLUMNS = [
  { title: "Base and candidate" },
  { title: "Verdict", className: list.wide },
  { title: "Confidence" },
  { title: "ARS", className: list.figure },
  { title: "Made", className: list.figure },
];

function Nothing(): ReactElement {
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

function Cells({ diff }: { diff: DiffSummary }): ReactElement {
  const confidence = diff.confidence && CONFIDENCE[diff.confidence];
  return (
    <>
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
    </>
  );
}
