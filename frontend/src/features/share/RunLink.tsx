import { Link } from "@tanstack/react-router";
import type { HTMLAttributes, ReactElement } from "react";
import { paths } from "@/app/paths";
import { useVisit } from "./visit";

interface Props extends HTMLAttributes<HTMLElement> {
  "data-error"?: boolean;
  run: string;
  step?: number;
}

/** A link to a run or one of its steps. On a shared page, text if the page does not show that run. */
export function RunLink({ run, step, ...props }: Props): ReactElement {
  const visit = useVisit();
  if (visit === null) return <Link {...paths.run(run, step === undefined ? {} : { step })} {...props} />;
  if (visit.run !== run) return <span {...props} />;
  return <Link {...paths.shared("run", visit.token, step)} {...props} />;
}
