import { useMemo, type ReactElement } from "react";
import type { DiffReport } from "@/api/schema";
import { paths } from "@/app/paths";
import { PageComments } from "@/features/comments/PageComments";
import { NewerRevisionNotice } from "@/features/runs/NewerRevisionNotice";
import { SourceNotice } from "@/features/retention/SourceNotice";
import { AlignedSteps } from "./steps/AlignedSteps";
import { AttributionPanel } from "./overview/Attribution";
import { ReportContext } from "./reportContext";
import { deletionNotices, revisionNotices } from "./runNotices";
import { SectionIndex } from "./sections/SectionIndex";
import { SectionPanels } from "./sections/SectionPanels";
import type { DiffSearch } from "./search";
import { ControlReplay } from "./overview/ControlReplay";
import { Verdict } from "./verdict/Verdict";
import classes from "./DiffView.module.css";

interface Props {
  report: DiffReport;
  hasLinks: boolean;
  search: DiffSearch;
  onSearch: (change: Partial<DiffSearch>) => void;
}

/** The report, for its owner and for readers of a share link. */
export function DiffView({ report, hasLinks, search, onSearch }: Props): ReactElement {
  const frame = useMemo(() => ({ report, hasLinks }), [report, hasLinks]);
  const deletions = deletionNotices(report);
  return (
    <ReportContext value={frame}>
      {deletions.map(({ side, run, time }) => (
        <SourceNotice
          key={side}
          subject={`The ${side} run`}
          time={time}
          note="This report loses its content when the run's contents are removed."
          run={hasLinks ? run : null}
        />
      ))}
      {revisionNotices(report).map(({ side, newer }) => (
        <NewerRevisionNotice
          key={side}
          newer={newer}
          subject={`the ${side} run`}
          note="This report does not cover it."
          link={hasLinks ? paths.run(newer.id) : null}
        />
      ))}
      <Verdict />
      <SectionIndex search={search} onSearch={onSearch} />
      <PageComments subject={{ kind: "diff", id: report.id }}>
        <div className={classes.two}>
          <AlignedSteps search={search} onSearch={onSearch} />
          <AttributionPanel />
        </div>
        <SectionPanels search={search} onSearch={onSearch} />
      </PageComments>
      {/* A deleted run cannot be replayed. */}
      {deletions.length === 0 && <ControlReplay />}
    </ReportContext>
  );
}
