import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { parseDiffSearch } from "@/pages/diff/search";
import { rootRoute } from "@/root";

export const shareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/share/$token",
  validateSearch: parseDiffSearch,
  component: lazyRouteComponent(() => import("./SharePage"), "SharePage"),
});
