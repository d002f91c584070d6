import { QueryClient } from "@tanstack/react-query";
import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "./schema";
import { problemFrom, ProblemError } from "./problem";

function readCookie(name: string): string | undefined {
  const cookie = document.cookie.split("; ").find((entry) => entry.startsWith(`${name}=`));
  return cookie && decodeURIComponent(cookie.slice(name.length + 1));
}

/** The CSRF header that Django requires on writes from a logged-in browser. */
export function csrfHeaders(): Record<string, string> {
  const token = readCookie("csrftoken");
  return token ? { "X-CSRFToken": token } : {};
}

const protect: Middleware = {
  onRequest({ request }) {
    if (request.method === "GET") return;
    for (const [name, value] of Object.entries(csrfHeaders())) request.headers.set(name, value);
  },
  async onResponse({ response }) {
    if (!response.ok) throw await problemFrom(response);
  },
};

export const api = createClient<paths>({ baseUrl: window.location.origin });
api.use(protect);

/** The body of a successful response. Failed responses have already thrown a `ProblemError`. */
export async function answer<T>(call: Promise<{ data?: T; response: Response }>): Promise<T> {
  const { data, response } = await call;
  if (data === undefined) throw await problemFrom(response);
  return data;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && (!(error instanceof ProblemError) || error.problem.retryable),
    },
  },
});
