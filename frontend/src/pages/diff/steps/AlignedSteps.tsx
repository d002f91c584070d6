import { ActionIcon, Group, SegmentedControl, Tooltip } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { useMemo, useState, type ReactElement } from "react";
import type { AlignedPair } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { AlignedRows } from "./AlignedRows";
import { differences, PAIRING_METHOD, nextDifference, pairKey, pairRows, relationCounts, rowKey } from "./pairs";
import { useReport } from "../reportContext";
import { sectionId, type DiffSearch } from "../search";
import { BothSteps } from "../StepLink";
import { RELATION } from "../wording";
import classes from "./AlignedSteps.module.css";

interface Props {
  search: DiffSearch;
  onSearch: (change: Partial<DiffSearch>) => void;
}

/** Both runs side by side, step by step. Selecting a pair filters the sections. */
export function AlignedSteps({ search, onSearch }: Props): ReactElement {
  const { report } = useReport();
  const [openFolds, setOpenFolds] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => pairRows(report.pairs, !search.all, openFolds), [report.pairs, search.all, openFolds]);
  const keys = useMemo(() => differences(rows), [rows]);
  const selectedPair = report.pairs.find((pair) => pairKey(pair) === search.pair);
  const goToDifference = (step: 1 | -1) =>
    onSearch({ pair: nextDifference(keys, search.pair ?? null, step) ?? undefined });
  const goToPair = (step: 1 | -1) => {
    const pairKeys = [...new Set(rows.flatMap((row) => (row.kind === "fold" ? [] : [pairKey(row.pair)])))];
    onSearch({ pair: nextDifference(pairKeys, search.pair ?? null, step) ?? undefined });
  };
  useShortcuts("Diff", [
    { keys: "d", action: "Next difference", run: () => goToDifference(1) },
    { keys: "D", action: "Previous difference", run: () => goToDifference(-1) },
    { keys: "j", action: "Next pair of steps", run: () => goToPair(1) },
    { keys: "k", action: "Previous pair of steps", run: () => goToPair(-1) },
    { keys: "c", action: "Toggle changed or all steps", run: () => onSearch({ all: search.all ? undefined : true }) },
    {
      keys: "u",
      action: "Toggle unified or side-by-side texts",
      run: () => onSearch({ unified: search.unified ? undefined : true }),
    },
    { keys: "Escape", action: "Show differences of all steps", run: () => onSearch({ pair: undefined }) },
  ]);

  return (
    <section id={sectionId("steps")} className={`panel ${classes.panel}`} aria-labelledby="aligned">
      <header className={classes.head}>
        <h2 id="aligned">Steps, aligned</h2>
        <Counts pairs={report.pairs} />
        <span className="grow" />
        <SegmentedControl
          aria-label="Steps to show"
          value={search.all ? "all" : "changed"}
          onChange={(value) => onSearch({ all: value === "all" ? true : undefined })}
          data={[
            { value: "changed", label: "Changed" },
            { value: "all", label: "All" },
          ]}
        />
        <Group gap={4} wrap="nowrap">
          <Tooltip label="Previous difference (D)">
            <ActionIcon
              aria-label="Previous difference"
              disabled={keys.length === 0}
              onClick={() => goToDifference(-1)}
            >
              <IconArrowUp size={16} stroke={1.8} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Next difference (d)">
            <ActionIcon aria-label="Next difference" disabled={keys.length === 0} onClick={() => goToDifference(1)}>
              <IconArrowDown size={16} stroke={1.8} />
            </ActionIcon>
          </Tooltip>
        </Group>
      </header>
      <AlignedRows
        rows={rows}
        selectedPair={search.pair ?? null}
        onSelect={(pair) => onSearch({ pair: pair === search.pair ? undefined : pair })}
        onOpen={(row) => setOpenFolds(new Set([...openFolds, rowKey(row).replace("fold ", "")]))}
      />
      <footer className={classes.foot}>
        {selectedPair ? <PairSummary pair={selectedPair} /> : <Hint count={keys.length} />}
      </footer>
    </section>
  );
}

function Counts({ pairs }: { pairs: readonly AlignedPair[] }): ReactElement {
  const counts = relationCounts(pairs);
  const parts = (["changed", "added", "removed", "moved", "same"] as const).filter((name) => counts[name] > 0);
  return (
    <span className={`${classes.counts} num`}>
      {parts.map((name) => (
        <span key={name}>
          <i data-relation={name} aria-hidden>
            {RELATION[name].sign}
          </i>
          {counts[name]} {name}
        </span>
      ))}
    </span>
  );
}

function Hint({ count }: { count: number }): ReactElement {
  return (
    <span className="muted">
      {count === 0
        ? "The runs do not differ in any step."
        : `${pluralize(count, "difference")}. Select a row to filter the details below.`}
    </span>
  );
}

function PairSummary({ pair }: { pair: AlignedPair }): ReactElement {
  const changes = pair.changes.length > 0 ? `: ${pair.changes.join(", ")}` : "";
  const isUnpaired = pair.base === null || pair.candidate === null;
  return (
    <>
      <span className={classes.pairing}>
        <b>{RELATION[pair.relation].words}</b>
        {changes}
        {!isUnpaired && (
          <span className="muted">
            {" "}
            · paired by {PAIRING_METHOD[pair.found_by]}, confidence {pair.confidence.toFixed(2)}
          </span>
        )}
      </span>
      <BothSteps base={pair.base} candidate={pair.candidate} />
    </>
  );
}
