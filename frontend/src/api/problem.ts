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
  return typeof value === "object" && value !== null && ["code", "title", "detail"].every((name) => name in value);
}

/** Failures that a proxy before the server reports in its own way. */
const PROXY_PROBLEMS: Record<number, Pick<Problem, "code" | "detail">> = {
  413: { code: "payload_too_large", detail: "This is larger than the server accepts." },
  429: { code: "rate_limited", detail: "There were too many requests." },
  502: { code: "dependency_unavailable", detail: "The server does not respond." },
  503: { code: "dependency_unavailable", detail: "The server is not available." },
  504: { code: "dependency_unavailable", detail: "The server did not respond in time." },
};

/** The problem that a failed response describes, or a generic one. */
export async function problemFrom(response: Response): Promise<ProblemError> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  if (isProblem(body)) return new ProblemError(body);
  const { status, statusText, url } = response;
  return new ProblemError({
    type: "about:blank",
    title: statusText || "The server's response could not be read",
    status,
    code: status === 404 ? "not_found" : "internal_error",
    detail: `The server responded with ${[status, statusText].join(" ").trim()}${url && ` to ${new URL(url).pathname}`}.`,
    where: "",
    retryable: status === 429 || status >= 500,
    request_id: response.headers.get("X-Request-ID") ?? "",
    ...PROXY_PROBLEMS[status],
  });
}
