// How each client is pointed at this server: what to run, set or write.

interface Server {
  /** The address of this server, without a slash at the end. */
  url: string;
  /** A token that may record; null on a server that needs none. */
  token: string | null;
}

export interface Client {
  id: string;
  name: string;
  /** What it records, or when to choose it. */
  note: string;
  lines: (server: Server) => string[];
}

/** Clients that insist on a key get this one from a server that needs none. */
const ANY_KEY = "local";

/** Without it, the lines fail on their first word. */
const INSTALL = "Install the SDK there first: make dist, then pip install dist/forkpoint-*.whl.";

const env = (name: string, value: string) => `export ${name}=${value}`;

export const CLIENTS: readonly Client[] = [
  {
    id: "sdk",
    name: "Python",
    note: `Records calls to OpenAI, Anthropic, LangChain and others automatically; add your own steps where you need them. ${INSTALL}`,
    lines: ({ url, token }) => [
      "import forkpoint",
      `forkpoint.init(app="my-agent", url="${url}"${token === null ? "" : `, token="${token}"`})`,
    ],
  },
  {
    id: "record",
    name: "Unchanged agent",
    note: `Records an agent without changing its code: Python by itself, other languages through the gateway. ${INSTALL}`,
    lines: ({ url, token }) => [
      env("FORKPOINT_URL", url),
      ...(token === null ? [] : [env("FORKPOINT_TOKEN", token)]),
      "forkpoint record -- python agent.py",
    ],
  },
  {
    id: "otel",
    name: "OpenTelemetry",
    note: "Any language: OpenInference, Traceloop, OpenTelemetry GenAI, Vercel AI SDK and every OTLP/HTTP exporter.",
    lines: ({ url, token }) => [
      env("OTEL_EXPORTER_OTLP_ENDPOINT", url),
      env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
      ...(token === null ? [] : [env("OTEL_EXPORTER_OTLP_HEADERS", `"Authorization=Bearer%20${token}"`)]),
    ],
  },
  {
    id: "langfuse",
    name: "Langfuse",
    note: "Python SDK 2 to 5 and JavaScript SDK 5, with scores; in Python, with media.",
    lines: ({ url, token }) => [
      env("LANGFUSE_HOST", url),
      env("LANGFUSE_BASE_URL", url),
      env("LANGFUSE_PUBLIC_KEY", "pk-lf-forkpoint"),
      env("LANGFUSE_SECRET_KEY", token ?? ANY_KEY),
    ],
  },
  {
    id: "langsmith",
    name: "LangSmith",
    note: "LangChain and LangGraph, with feedback.",
    lines: ({ url, token }) => [
      env("LANGSMITH_TRACING", "true"),
      env("LANGSMITH_ENDPOINT", `${url}/langsmith`),
      env("LANGSMITH_API_KEY", token ?? ANY_KEY),
    ],
  },
  {
    id: "coding",
    name: "Claude Code, Codex",
    note: "Sends sessions while they are written, and resumes where it stopped. The command comes with the server: in its checkout, it is .venv/bin/forkpoint.",
    lines: ({ url, token }) => [
      env("FORKPOINT_URL", url),
      ...(token === null ? [] : [env("FORKPOINT_TOKEN", token)]),
      "forkpoint watch",
    ],
  },
  {
    id: "krabs",
    name: "Krabs",
    note: "Telemetry events over HTTP, in the agent's config.",
    // It sets no headers: a token in the address is sent as Basic authorization.
    lines: ({ url, token }) => [
      "telemetry.enabled = true",
      `telemetry.http_endpoint = "${token === null ? url : url.replace("://", `://krabs:${token}@`)}/api/v1/krabs/events"`,
    ],
  },
];
