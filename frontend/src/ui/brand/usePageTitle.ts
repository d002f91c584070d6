import { useDocumentTitle } from "@mantine/hooks";

/** Name the page in the browser's tab, its history and its bookmarks. */
export function usePageTitle(title: string): void {
  useDocumentTitle(`${title} · Forkpoint`);
}
