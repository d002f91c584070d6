// The policy of a fork as it is being edited: a sparse one, because an absent field means "as usual".
import type { Policy } from "@/api/schema";

export type Part = "tools" | "budget" | "retries";
export type SparsePolicy = Partial<Omit<Policy, Part>> & { [P in Part]?: Partial<Policy[P]> };
