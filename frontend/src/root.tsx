import { createRootRoute, Outlet } from "@tanstack/react-router";
import { ErrorState } from "./components/ErrorState";
import { NotFound } from "./components/NotFound";
import { Shell } from "./shell/Shell";

export const rootRoute = createRootRoute({
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
  errorComponent: ({ error, reset }) => <ErrorState error={error} onRetry={reset} />,
  notFoundComponent: NotFound,
});
