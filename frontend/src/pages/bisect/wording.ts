/** Descriptions of a bisection's verdicts. */
import type { BisectionView, BisectResult, ForkResult, ProbeView } from "@/api/schema";
import type { Mark } from "@/domain/steps/labels";

export interface VerdictWording {
  title: string;
  mark: Mark | "accent";
}

export const REPRODUCTION: Record<BisectResult["reproduction"], VerdictWording> = {
  reproduces: { title: "Yes, every time", mark: "failed" },
  flaky: { title: "Sometimes", mark: "simulated" },
  does_not_reproduce: { title: "No, it passed every time", mark: "exact" },
  unclear: { title: "Unknown", mark: "live" },
};

export const RESCUE: Record<BisectResult["rescue"], VerdictWording> = {
  rescued: { title: "Yes", mark: "exact" },
  not_rescued: { title: "No", mark: "failed" },
  unclear: { title: "Unknown", mark: "live" },
};

export const VERDICT: Record<ProbeView["verdict"], VerdictWording> = {
  passed: { title: "passed", mark: "exact" },
  failed: { title: "failed", mark: "failed" },
  unclear: { title: "inconclusive", mark: "live" },
  running: { title: "running", mark: "accent" },
};

/** "step 9", plus the name if it says more than the type. */
export function forkName({ sequence_no, type, name }: ForkResult["step"]): string {
  return name === type ? `step ${sequence_no}` : `step ${sequence_no} · ${name}`;
}

export interface Row {
  fork: ForkResult;
  /** Untested candidate steps directly before this one. */
  skippedSteps: number;
  role: "commit" | "kept" | "earliest" | null;
}

/** The tested steps in order, with the gaps between them and their role in the verdict. */
export function rowsOf(view: Pick<BisectionView, "result" | "forks">, stepNumbers: readonly number[]): Row[] {
  const { forks, commit } = view.result;
  const places = new Map(stepNumbers.map((number, place) => [number, place]));
  let lastPlace = -1;
  return forks.map((fork) => {
    const number = fork.step.sequence_no;
    const place = places.get(number) ?? lastPlace + 1;
    const skippedSteps = place - lastPlace - 1;
    lastPlace = place;
    const role =
      number === commit?.step.sequence_no
        ? ("commit" as const)
        : number === commit?.kept?.sequence_no
          ? ("kept" as const)
          : number === commit?.earliest.sequence_no
            ? ("earliest" as const)
            : null;
    return { fork, skippedSteps, role };
  });
}
