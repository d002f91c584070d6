import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { IconMapQuestion } from "@tabler/icons-react";
import { paths } from "./paths";
import { usePageTitle } from "@/ui/brand/usePageTitle";
import { EmptyState } from "@/ui/EmptyState";

export function NotFound(): ReactElement {
  usePageTitle("Page not found");
  return (
    <EmptyState
      isPage
      icon={<IconMapQuestion size={28} stroke={1.5} />}
      title="Page not found"
      action={<Link {...paths.runs()}>Go to runs</Link>}
    >
      The address may be incomplete, or what it points to was deleted.
    </EmptyState>
  );
}
