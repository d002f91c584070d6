// The policy of a fork while it is edited. An absent field means the default.
import type { Policy } from "@/api/schema";

export type Part = "tools" | "budget" | "retries";
export type SparsePolicy = Partial<Omit<Policy, Part>> & { [P in Part]?: Partial<Policy[P]> };
