// Errors in words: what happened, then what to try.
import { notifications } from "@mantine/notifications";
import { ProblemError, UnreachableError } from "@/api/problem";
import { sentence } from "@/ui/format/text";

/** What happened. */
export function failureMessage(error: unknown): string {
  // The server's words are for programs, which send a token.
  if (error instanceof ProblemError && error.problem.code === "auth_required") return "You are no longer signed in.";
  return sentence(error instanceof Error ? error.message : String(error));
}

/** What to try; empty if nothing but another input helps. */
export function advice(error: unknown): string {
  if (error instanceof UnreachableError) return "Check that it is running, then try again.";
  if (!(error instanceof ProblemError))
    return "This is a bug in the page. Reload it. If it happens again, report it with the text above.";
  switch (error.problem.code) {
    case "not_found":
      return "It may have been removed, or the address is incomplete.";
    case "auth_required":
      return "Sign in in another tab, then try again.";
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
      return error.problem.retryable ? "Trying again may help." : "";
  }
}

/** What happened and what to try, for a line beside the action that failed. */
export function failureWords(error: unknown): string {
  return `${failureMessage(error)} ${advice(error)}`.trim();
}

/** Report in a toast that an action failed. `title` says what did not happen. */
export function showFailure(title: string, error: unknown): void {
  notifications.show({ color: "red", title, message: failureWords(error) });
}
