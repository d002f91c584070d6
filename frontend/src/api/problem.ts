import type { Problem } from "./schema";

/** A problem reported by the server. `message` can be shown to the user. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

/** The server could not be reached. */
export class UnreachableError extends Error {
  constructor() {
    super("Can’t reach the server.");
    this.name = "UnreachableError";
  }
}

function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null && "code" in value && "detail" in value;
}

/** The problem that a failed response describes, or a generic one. */
export async function problemFrom(response: Response): Promise<ProblemError> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  if (isProblem(body)) return new ProblemError(body);
  return new ProblemError({
    type: "about:blank",
    title: response.statusText || "The server's response could not be read",
    status: response.status,
    code: response.status === 404 ? "not_found" : "internal_error",
    detail: `The server responded with ${response.status} ${response.statusText} to ${new URL(response.url || "/", window.location.origin).pathname}.`,
    where: "",
    retryable: response.status >= 500,
    request_id: response.headers.get("X-Request-ID") ?? "",
  });
}
