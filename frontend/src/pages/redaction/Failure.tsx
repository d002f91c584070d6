import type { ReactElement } from "react";
import { ProblemError } from "@/api/problem";

/** What is wrong with a draft, and where. */
export function Failure({ error }: { error: Error }): ReactElement {
  const pointer = error instanceof ProblemError ? error.problem.where : "";
  return (
    <p className="failed" role="alert">
      {error.message}
      {pointer && (
        <>
          {" "}
          at <code>{pointer}</code>
        </>
      )}
    </p>
  );
}
