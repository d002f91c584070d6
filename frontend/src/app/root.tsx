import { createRootRoute, Outlet, redirect } from "@tanstack/react-router";
import { accessQuery } from "@/api/access";
import { queryClient } from "@/api/client";
import { ErrorPage } from "./ErrorPage";
import { NotFound } from "./NotFound";
import { paths } from "./paths";
import { isPublicPage } from "@/app/shell/publicPages";
import { Shell } from "@/app/shell/Shell";

export const rootRoute = createRootRoute({
  beforeLoad: async ({ location }) => {
    if (isPublicPage(location.pathname)) return;
    const access = await queryClient.query({ ...accessQuery, staleTime: "static" });
    if (access.login_required && access.role === null) throw redirect(paths.login({ next: location.href }));
  },
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
  errorComponent: ({ error, reset }) => <ErrorPage error={error} onRetry={reset} />,
  notFoundComponent: NotFound,
});
