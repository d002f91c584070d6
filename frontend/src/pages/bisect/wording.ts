/** Descriptions of a bisection's verdicts. */
import type { BisectResult, ForkResult, ProbeView } from "@/api/schema";
import type { Mark } from "@/domain/steps/labels";

export interface VerdictWording {
  title: string;
  mark: Mark | "accent";
}

export const REPRODUCTION: Record<BisectResult["reproduction"], VerdictWording> = {
  reproduces: { title: "Yes, every time", mark: "failed" },
  flaky: { title: "Sometimes", mark: "simulated" },
  does_not_reproduce: { title: "No, it passed every time", mark: "exact" },
  unclear: { title: "Not known yet", mark: "live" },
};

export const RESCUE: Record<BisectResult["rescue"], VerdictWording> = {
  rescued: { title: "Yes", mark: "exact" },
  not_rescued: { title: "Re-running did not help", mark: "failed" },
  unclear: { title: "Not known yet", mark: "live" },
};

export const VERDICT: Record<ProbeView["verdict"], VerdictWording> = {
  passed: { title: "passed", mark: "exact" },
  failed: { title: "failed", mark: "failed" },
  unclear: { title: "undecided", mark: "live" },
  running: { title: "running", mark: "accent" },
};

/** "step 9", plus the name if it says more than the type. */
export function forkName({ sequence_no, type, name }: ForkResult["step"]): string {
  return name === type ? `step ${sequence_no}` : `step ${sequence_no} · ${name}`;
}
