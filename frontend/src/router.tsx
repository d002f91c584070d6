import { createRouter } from "@tanstack/react-router";
import { queryClient } from "./api/client";
import { ErrorState } from "./components/ErrorState";
import { NotFound } from "./components/NotFound";
import { runRoute } from "./pages/run/route";
import { runsRoute } from "./pages/runs/route";
import { rootRoute } from "./root";

// A page adds its route here: one line, its code stays in its own lazy chunk.
const routeTree = rootRoute.addChildren([runsRoute, runRoute]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  context: { queryClient },
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} onRetry={reset} />,
  defaultNotFoundComponent: NotFound,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
