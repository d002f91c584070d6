/** The run that a new experiment forks, and the step. */
export interface NewExperimentSearch {
  run?: string;
  step?: number;
}

export function parseNewExperimentSearch(raw: Record<string, unknown>): NewExperimentSearch {
  const { run } = raw;
  const step = Number(raw["step"]);
  return {
    ...((typeof run === "string" || typeof run === "number") && run !== "" && { run: String(run) }),
    ...(Number.isInteger(step) && step > 0 && { step }),
  };
}
