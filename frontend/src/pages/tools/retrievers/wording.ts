import type { RetrieverView } from "@/api/schema";

/** The steps that a retriever answers. */
export function servesWords({ serves, stores }: Pick<RetrieverView, "serves" | "stores">): string {
  const steps = serves.length > 0 ? `steps named ${serves.join(", ")}` : "any step";
  return stores.length > 0 ? `${steps} that went to ${stores.join(", ")}` : steps;
}
