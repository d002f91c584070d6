import { onlineManager, QueryClient } from "@tanstack/react-query";
import createClient, { type Middleware } from "openapi-fetch";
import { connection } from "./connection/connection";
import type { paths } from "./schema";
import { problemFrom, ProblemError, UnreachableError } from "./problem";
import { readWithTicket } from "./visit";

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
    if (response.ok) return;
    if (PROXY_FAILURES.has(response.status)) void connection.check();
    throw await problemFrom(response);
  },
  onError: ({ error }) => requestError(error),
};

/** Status codes of a proxy whose server does not answer. */
const PROXY_FAILURES = new Set([502, 503, 504]);

/** The error of a request without a response. `fetch` throws a TypeError if it cannot connect. */
function requestError(error: unknown): Error | undefined {
  if (!(error instanceof TypeError)) return undefined;
  void connection.check();
  return new UnreachableError();
}

/** `fetch` for what the API's client cannot send or read. */
export async function request(address: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(address, options);
  } catch (error) {
    throw requestError(error) ?? error;
  }
}

export const api = createClient<paths>({ baseUrl: window.location.origin });
api.use(protect, readWithTicket);

/** The body of a successful response. Failed responses have already thrown a `ProblemError`. */
export async function answer<T>(call: Promise<{ data?: T; response: Response }>): Promise<T> {
  const { data, response } = await call;
  if (data === undefined) throw await problemFrom(response);
  return data;
}

// Queries pause while the server is unreachable. Whether the machine has a network says nothing about a local server.
onlineManager.setEventListener((setOnline) => connection.subscribe(() => setOnline(connection.status().reachable)));

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // Messages may have been missed.
      refetchOnReconnect: "always",
      retry: (failures, error) => failures < 2 && (!(error instanceof ProblemError) || error.problem.retryable),
    },
    // Nothing is written later than the user expects.
    mutations: { networkMode: "always" },
  },
});
