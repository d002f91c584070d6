import { createRootRoute, Outlet, redirect } from "@tanstack/react-router";
import { accessQuery } from "./api/access";
import { queryClient } from "./api/client";
import { ErrorState } from "./components/ErrorState";
import { NotFound } from "./components/NotFound";
import { paths } from "./paths";
import { isOpen } from "./shell/open";
import { Shell } from "./shell/Shell";

export const rootRoute = createRootRoute({
  beforeLoad: async ({ location }) => {
    if (isOpen(location.pathname)) return;
    const access = await queryClient.query({ ...accessQuery, staleTime: "static" });
    if (access.login_required && access.role === null) throw redirect(paths.login({ next: location.href }));
  },
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
  errorComponent: ({ error, reset }) => <ErrorState isPage error={error} onRetry={reset} />,
  notFoundComponent: NotFound,
});
