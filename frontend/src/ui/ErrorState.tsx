import { Button } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import { ProblemError, UnreachableError } from "@/api/problem";
import classes from "./States.module.css";
import { capitalize, sentence } from "@/ui/format/text";

/** Advice by type of error. */
function advice(error: unknown): string {
  if (!(error instanceof ProblemError)) {
    return error instanceof UnreachableError
      ? "Check that it is running, then try again."
      : "This is a bug in the page. Reload it. If it happens again, report it with the text above.";
  }
  switch (error.problem.code) {
    case "not_found":
      return "It may have been removed, or the address is incomplete.";
    case "auth_required":
      return "Sign in and open this address again.";
    case "auth_forbidden":
      return "Your role does not allow this. An admin can change that.";
    case "rate_limited":
    case "dependency_unavailable":
      return "Wait a moment, then try again.";
    case "conflict":
      return "Reload the page to see what changed.";
    case "internal_error":
      return "Try again. If it happens again, report it with the text above.";
    default:
      return error.problem.retryable ? "Trying again may help." : "Trying again will not help.";
  }
}

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
        {sentence(error instanceof Error ? error.message : String(error))} {advice(error)}
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
