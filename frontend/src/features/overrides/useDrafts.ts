import { useSessionStorage } from "@mantine/hooks";
import type { Drafts } from "@/domain/overrides/drafts";

const NONE: Drafts = {};

/** The forks of a run that are being edited in this tab, kept across reloads. */
export function useDrafts(run: string) {
  return useSessionStorage<Drafts>({ key: `forks:${run}`, defaultValue: NONE, getInitialValueInEffect: false });
}
