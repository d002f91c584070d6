import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { paths } from "./paths";
import { EmptyState } from "@/ui/EmptyState";

export function NotFound(): ReactElement {
  return (
    <EmptyState isPage title="Page not found" action={<Link {...paths.runs()}>Go to runs</Link>}>
      The address may be incomplete, or what it points to was deleted.
    </EmptyState>
  );
}
