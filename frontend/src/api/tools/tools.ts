import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { ToolChoice } from "@/api/schema";

export const toolsQuery = queryOptions({
  queryKey: ["tools"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/tools", { signal })),
  staleTime: 5_000,
});

/** Save decisions. Returns every tool in its new state. With `asSuggested`, anything but the suggestions is refused. */
export function decide(decisions: ToolChoice[], asSuggested = false) {
  return answer(api.PUT("/api/v1/tools", { body: { decisions, as_suggested: asSuggested } }));
}

export function importTools(file: string) {
  return answer(
    api.PUT("/api/v1/tools.yaml", {
      body: file,
      bodySerializer: (text) => text,
      headers: { "Content-Type": "application/yaml" },
    }),
  );
}
