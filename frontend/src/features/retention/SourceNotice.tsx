import { IconTrash } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { paths } from "@/app/paths";
import { fullTime } from "@/ui/format/numbers";
import { Notice } from "@/ui/Notice";

interface Props {
  /** Such as "Its source". */
  subject: string;
  time: string;
  /** What is missing because of it; empty while everything still exists. */
  note: string;
  /** Null if the reader cannot open runs. */
  run: string | null;
}

/** A notice that a run was deleted from which this page takes its contents. */
export function SourceNotice({ subject, time, note, run }: Props): ReactElement {
  return (
    <Notice
      icon={<IconTrash size={15} aria-hidden />}
      link={run !== null && <Link {...paths.run(run)}>Open the deleted run</Link>}
    >
      {subject} was deleted on {fullTime(time)}. {note}
    </Notice>
  );
}
