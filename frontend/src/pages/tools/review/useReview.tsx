import { useMutation, useQueryClient, type QueryClient } from "@tanstack/react-query";
import type { ToolChoice, ToolList } from "@/api/schema";
import { decide, importTools, toolsQuery } from "@/api/tools/tools";
import { pluralize } from "@/ui/format/numbers";
import { offerUndo } from "@/ui/offerUndo";
import { showFailure } from "@/ui/failure/failure";
import { decisionsToUndo } from "./review";
import { stateWords } from "../search";

interface Decision {
  choices: ToolChoice[];
  /** The choices equal the suggestions; the server refuses them otherwise. */
  asSuggested?: boolean;
}

/** Review tools one by one, several at once, or by file. Every decision can be undone. */
export function useReview() {
  const client = useQueryClient();
  const decision = useMutation({
    mutationFn: ({ choices, asSuggested }: Decision) => decide(choices, asSuggested),
    onMutate: () => cachedTools(client),
    onSuccess: (tools, { choices }, before) => accept(client, tools, before, decisionWords(choices)),
    onError: (error) => {
      showFailure("The decision was not saved", error);
      void client.invalidateQueries({ queryKey: toolsQuery.queryKey });
    },
  });
  const file = useMutation({
    mutationFn: async (file: File) => importTools(await file.text()),
    onMutate: () => cachedTools(client),
    onSuccess: (tools, _, before) => {
      const unreviewedCount = tools.tools.filter(({ safe }) => safe === null).length;
      const remark = unreviewedCount
        ? `${pluralize(unreviewedCount, "tool")} still to review.`
        : "Every tool is reviewed.";
      accept(client, tools, before, `The file was imported. ${remark}`);
    },
    onError: (error) => showFailure("The file was not imported", error),
  });
  return { decision, file };
}

function cachedTools(client: QueryClient): ToolList["tools"] {
  return client.getQueryData<ToolList>(toolsQuery.queryKey)?.tools ?? [];
}

function decisionWords(choices: ToolChoice[]): string {
  const [firstChoice] = choices;
  if (!firstChoice) return "No decision was changed";
  const subject = choices.length === 1 ? firstChoice.name : pluralize(choices.length, "tool");
  return `${subject}: ${stateWords(firstChoice)}`;
}

/** Show the updated tools and offer to undo the change. */
function accept(client: QueryClient, tools: ToolList, before: ToolList["tools"], message: string): void {
  client.setQueryData(toolsQuery.queryKey, tools);
  const choices = decisionsToUndo(before, tools.tools);
  if (choices.length === 0) return;
  offerUndo(message, "The decision was not undone", async () =>
    client.setQueryData(toolsQuery.queryKey, await decide(choices)),
  );
}
