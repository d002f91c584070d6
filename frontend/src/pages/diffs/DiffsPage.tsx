import { Button } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { IconArrowsDiff, IconPlus } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { diffsQuery } from "@/api/diffs/diffs";
import type { DiffSummary, RunVerdicts } from "@/api/schema";
import { EmptyState } from "@/ui/EmptyState";
import { timeAgo, fullTime } from "@/ui/format/numbers";
import { ListPage, LoadedList, RowTable, type Column } from "@/ui/ListPage";
import { ConfidenceChip } from "@/features/diffs/ConfidenceChip";
import { OutcomeMark } from "@/features/runs/RunOutcome";
import { score } from "@/domain/diffs/score";
import { baseName, candidateName } from "@/domain/diffs/candidateName";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import list from "@/ui/ListPage.module.css";

/** All reports, newest first. */
export function DiffsPage(): ReactElement {
  useDocumentTitle("Diffs");
  const navigate = useNavigate();
  const listing = useQuery(diffsQuery);
  useShortcuts("Diffs", [{ keys: "c", action: "Compare two runs", run: () => void navigate(paths.compare()) }]);
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
      <LoadedList listing={listing}>
        {({ diffs }) => (
          <RowTable
            name="Diffs"
            columns={COLUMNS}
            rows={diffs}
            empty={<NoDiffs />}
            onOpen={(diff) => void navigate(paths.diff(diff.id))}
          />
        )}
      </LoadedList>
    </ListPage>
  );
}

function NoDiffs(): ReactElement {
  return (
    <EmptyState
      icon={<IconArrowsDiff size={28} stroke={1.5} />}
      title="No diffs yet"
      action={<Link {...paths.compare()}>Compare two runs</Link>}
    >
      Replay a run with a change and open its diff, or compare any two recordings.
    </EmptyState>
  );
}

/** The outcomes of both runs, one above the other. */
function OutcomePair({ outcomes: { base, candidate } }: { outcomes: RunVerdicts }): ReactElement {
  return (
    <span className={list.pair}>
      <OutcomeMark outcome={base.outcome} />
      <OutcomeMark outcome={candidate.outcome} />
    </span>
  );
}

const COLUMNS: readonly [Column<DiffSummary>, ...Column<DiffSummary>[]] = [
  {
    title: "Base and candidate",
    cell: (diff) => (
      <>
        <Link {...paths.diff(diff.id)} className={list.name}>
          {baseName(diff)}
        </Link>
        <span className={list.sub}>{candidateName(diff)}</span>
      </>
    ),
  },
  { title: "Outcomes", cell: ({ outcomes }) => <OutcomePair outcomes={outcomes} /> },
  { title: "Verdict", className: list.wide, cell: ({ sentence }) => sentence },
  { title: "Confidence", cell: ({ confidence }) => confidence && <ConfidenceChip confidence={confidence} short /> },
  { title: "ARS", className: list.figure, cell: ({ ars }) => score(ars) },
  {
    title: "Created",
    className: list.figure,
    cell: (diff) => timeAgo(diff.created_at),
    hint: (diff) => fullTime(diff.created_at),
  },
];
