import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const redactionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings/redaction",
  component: lazyRouteComponent(() => import("./RedactionPage"), "RedactionPage"),
});
