import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { SharedPage } from "@/features/share/SharedPage";

const route = getRouteApi("/share/$token");

/** The address of a share link: opens it and goes to the page of its subject. */
export function SharePage(): ReactElement {
  const { token } = route.useParams();
  return (
    <SharedPage token={token} kinds={[]}>
      {() => null}
    </SharedPage>
  );
}
