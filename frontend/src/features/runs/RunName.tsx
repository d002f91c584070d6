import type { ReactElement } from "react";
import type { RunSummary } from "@/api/schema";
import { runTitle } from "@/domain/runs/title";
import { shortenMarkers } from "@/ui/format/markers";
import { shortId } from "@/ui/format/numbers";
import { ForkName, ForkWords } from "./ForkName";

interface Props {
  run: RunSummary;
  /** The fork mark is shown elsewhere. */
  withoutMark?: boolean;
}

/** A run in a list: a fork by its step and its change, any other run by its name. */
export function RunName({ run, withoutMark = false }: Props): ReactElement {
  if (run.fork_sequence_no !== null) {
    const Name = withoutMark ? ForkWords : ForkName;
    return <Name fork={run} step={run.fork_sequence_no} />;
  }
  return <>{shortenMarkers(runTitle(run)) || shortId(run.external_id)}</>;
}
