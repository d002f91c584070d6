import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { paths } from "./paths";
import { EmptyState } from "@/ui/EmptyState";

export function NotFound(): ReactElement {
  return (
    <EmptyState isPage title="Page not found" action={<Link {...paths.runs()}>To the runs</Link>}>
      The address may be incomplete. Links to runs, replays and diffs stay valid as long as these exist.
    </EmptyState>
  );
}
