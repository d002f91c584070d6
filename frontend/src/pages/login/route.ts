import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";
import { parseLoginSearch } from "./search";

export const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/login",
  validateSearch: parseLoginSearch,
  component: lazyRouteComponent(() => loadPart(() => import("./LoginPage")), "LoginPage"),
});
