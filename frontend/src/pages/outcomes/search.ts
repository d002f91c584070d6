/** The app whose rule is shown. */
export interface OutcomesSearch {
  app?: string;
}

export function parseOutcomesSearch(raw: Record<string, unknown>): OutcomesSearch {
  return typeof raw.app === "string" && raw.app ? { app: raw.app } : {};
}
