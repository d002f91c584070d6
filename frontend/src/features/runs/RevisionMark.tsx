import type { ReactElement } from "react";

/** The number of a run that is not the first recording with its id. */
export function RevisionMark({ revision }: { revision: number }): ReactElement | null {
  if (revision === 1) return null;
  return (
    <span
      className="chip"
      title={`Revision ${revision}: earlier recordings with the same id are stored too, and listed on the run's page.`}
    >
      rev {revision}
    </span>
  );
}
