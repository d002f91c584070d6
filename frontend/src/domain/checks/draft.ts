// Checks on the outcome of a run as they are being edited, and what is sent of them.

export type CheckKind =
  "contains" | "not_contains" | "regex" | "json_schema" | "tool_called" | "tool_not_called" | "status";

/** `text` is what the check looks for: a text, a pattern, a schema, a tool's name or a status. */
export interface CheckDraft {
  kind: CheckKind;
  text: string;
}

/** The checks to send; those that say nothing yet are left out. */
export function checksOf(checks: readonly CheckDraft[]): object[] {
  return checks.filter(({ text }) => text.trim()).map(checkOf);
}

/** What keeps the checks from being sent, in one sentence; null when nothing does. */
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
