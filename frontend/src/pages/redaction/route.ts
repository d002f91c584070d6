import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const redactionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings/redaction",
  component: lazyRouteComponent(() => loadPart(() => import("./RedactionPage")), "RedactionPage"),
});
