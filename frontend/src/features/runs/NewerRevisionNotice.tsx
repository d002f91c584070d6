import { IconHistory } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { NewerRevision } from "@/api/schema";
import type { paths } from "@/app/paths";
import { newerRevisionWords } from "@/domain/runs/revisions";
import { Notice } from "@/ui/Notice";

interface Props {
  newer: NewerRevision;
  /** The run that has a newer revision, such as "this run". */
  subject: string;
  note?: string;
  /** Null if the reader cannot open runs. */
  link: ReturnType<typeof paths.run> | null;
}

/** A quiet notice that a newer revision of a run exists. */
export function NewerRevisionNotice({ newer, subject, note = "", link }: Props): ReactElement {
  return (
    <Notice
      icon={<IconHistory size={15} aria-hidden />}
      link={link && <Link {...link}>Open revision {newer.revision}</Link>}
    >
      {newerRevisionWords(subject, newer)} {note}
    </Notice>
  );
}
