import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { SearchHit } from "@/api/schema";
import { paths } from "@/app/paths";
import { shortenMarkers } from "@/ui/format/markers";
import classes from "./RunsTable.module.css";

/** Where a search matched in a run: the step and the text around the words. Leads to the step. */
export function SearchHitLine({ hit }: { hit: SearchHit }): ReactElement {
  return (
    <Link {...paths.run(hit.run, { step: hit.step })} className={classes.hit}>
      <span className={`muted num ${classes.place}`}>
        step {hit.step} · {hit.name}
      </span>
      <span className="ellipsis">
        {hit.snippet.map((part, index) =>
          part.is_match ? <mark key={index}>{part.text}</mark> : <span key={index}>{shortenMarkers(part.text)}</span>,
        )}
      </span>
    </Link>
  );
}
