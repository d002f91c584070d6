import { Button } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import { ProblemError } from "@/api/problem";
import classes from "./States.module.css";
import { advice, failureMessage } from "@/ui/failure/failure";
import { capitalize } from "@/ui/format/text";

type ErrorCode = ProblemError["problem"]["code"];

/** Errors that end by themselves, or when somebody signs in, gets a role or restores a run. */
const CHANGEABLE: readonly ErrorCode[] = [
  "not_found",
  "auth_required",
  "auth_forbidden",
  "conflict",
  "rate_limited",
  "dependency_unavailable",
  "internal_error",
];

/** Whether the same request can succeed later. */
function canSucceed(error: unknown): boolean {
  return !(error instanceof ProblemError) || error.problem.retryable || CHANGEABLE.includes(error.problem.code);
}

interface Props {
  error: unknown;
  onRetry?: () => void;
  /** Another action besides retrying. */
  action?: ReactNode;
  /** The error is the whole page. */
  isPage?: boolean;
}

export function ErrorState({ error, onRetry, action, isPage = false }: Props): ReactElement {
  const Heading = isPage ? "h1" : "h2";
  const problem = error instanceof ProblemError ? error.problem : null;
  return (
    <div className={classes.state} role="alert">
      <div className={classes.icon}>
        <IconAlertTriangle size={26} stroke={1.5} className="failed" />
      </div>
      <Heading className={classes.title}>
        {problem ? capitalize(problem.title.toLowerCase()) : "Something went wrong"}
      </Heading>
      <div className={classes.text}>
        {failureMessage(error)} {advice(error) || "Trying again will not help."}
      </div>
      {problem?.request_id && <code className="muted">request {problem.request_id}</code>}
      <div className={classes.action}>
        {onRetry && canSucceed(error) && (
          <Button variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
        {action}
      </div>
    </div>
  );
}
