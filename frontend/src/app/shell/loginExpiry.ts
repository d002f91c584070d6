import type { QueryClient } from "@tanstack/react-query";
import { ProblemError } from "@/api/problem";

/** Call `onExpire` when the server rejects a request because the session has expired. */
export function onLoginExpired(client: QueryClient, onExpire: () => void): () => void {
  return client.getQueryCache().subscribe((event) => {
    if (event.type !== "updated" || event.action.type !== "error") return;
    const error: unknown = event.action.error;
    if (error instanceof ProblemError && error.problem.code === "auth_required") onExpire();
  });
}
