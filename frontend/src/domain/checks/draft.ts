// Checks on a run's outcome while they are edited, and the request made of them.

export type CheckKind =
  | "contains"
  | "not_contains"
  | "regex"
  | "json_schema"
  | "tool_called"
  | "tool_not_called"
  | "status";

/** `text` is the check's argument: a text, a pattern, a schema, a tool name or a status. */
export interface CheckDraft {
  kind: CheckKind;
  text: string;
  /** The judgement for which the check stands in. */
  name?: string;
}

/** The checks to send, without empty ones. */
export function checksOf(checks: readonly CheckDraft[]): object[] {
  return checks
    .filter(({ text }) => text.trim())
    .map((check) => (check.name?.trim() ? { ...checkOf(check), name: check.name.trim() } : checkOf(check)));
}

/** Why the checks cannot be sent, in one sentence. Null if they can. */
export function checksProblem(checks: readonly CheckDraft[]): string | null {
  const bad = checks.some(({ kind, text }) => kind === "json_schema" && schemaOf(text) === null);
  return bad ? "The schema is not valid. Enter a JSON object." : null;
}

function checkOf({ kind, text }: CheckDraft): object {
  switch (kind) {
    case "regex":
      return { kind, pattern: text };
    case "json_schema":
      return { kind, document: schemaOf(text) ?? {} };
    case "tool_called":
    case "tool_not_called":
      return { kind, tool: text.trim() };
    case "status":
      return { kind, status: text };
    case "contains":
    case "not_contains":
      return { kind, text };
    default:
      return kind satisfies never;
  }
}

function schemaOf(text: string): object | null {
  if (!text.trim()) return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
