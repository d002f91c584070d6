import type { ReactElement } from "react";
import { ProblemError } from "@/api/problem";
import { failureWords } from "@/ui/failure/failure";

/** What is wrong with a draft, and where. */
export function Failure({ error }: { error: Error }): ReactElement {
  const pointer = error instanceof ProblemError ? error.problem.where : "";
  return (
    <p className="failed" role="alert">
      {failureWords(error)}
      {pointer && (
        <>
          {" "}
          at <code>{pointer}</code>
        </>
      )}
    </p>
  );
}
