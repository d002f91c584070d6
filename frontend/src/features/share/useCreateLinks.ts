import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { share, type ShareSubject } from "@/api/shares";
import { pluralize } from "@/ui/format/numbers";
import { linkList, termsOf, type LinkDraft, type TitledLink } from "./shareLinks";
import { showFailure } from "@/ui/failure/failure";

/** A subject with its title in a list of links. */
export interface TitledSubject extends ShareSubject {
  title: string;
}

/** Create a link to each subject with the same terms, and copy them. The data is what was copied. */
export function useCreateLinks(subjects: readonly TitledSubject[]) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (draft: LinkDraft) => {
      const links: TitledLink[] = [];
      for (const subject of subjects) {
        try {
          const { url } = await share(subject, termsOf(draft));
          links.push({ title: subject.title, url: addressOf(url ?? "") });
        } catch (error) {
          // The links before it exist: show them.
          if (links.length === 0) throw error;
          showFailure(`${pluralize(subjects.length - links.length, "link")} not created`, error);
          break;
        }
      }
      return links.length === 1 ? (links[0]?.url ?? "") : linkList(links);
    },
    onSuccess: (text) => void copy(text, subjects.length === 1),
    onError: (error) => showFailure(subjects.length === 1 ? "The link was not created" : "No link was created", error),
    onSettled: () => client.invalidateQueries({ queryKey: ["shares"] }),
  });
}

function addressOf(path: string): string {
  return new URL(path, window.location.origin).href;
}

/** Copy new links. Without the permission to, the field in the dialog still shows them. */
async function copy(text: string, isSingle: boolean): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notifications.show({ message: isSingle ? "Link copied" : "Links copied" });
  } catch {
    const message = isSingle
      ? "Link created. Copy it from the field below."
      : "Links created. Copy them from the field below.";
    notifications.show({ message });
  }
}
