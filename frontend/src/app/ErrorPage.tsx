import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ProblemError } from "@/api/problem";
import { ErrorState } from "@/ui/ErrorState";
import { paths } from "./paths";

/** A page that shows only an error. */
export function ErrorPage({ error, onRetry }: { error: unknown; onRetry: () => void }): ReactElement {
  const isMissing = error instanceof ProblemError && error.problem.code === "not_found";
  const home = isMissing && <Link {...paths.runs()}>Go to runs</Link>;
  return <ErrorState isPage error={error} onRetry={onRetry} action={home} />;
}
