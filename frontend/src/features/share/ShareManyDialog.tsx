import { Button, Group, Textarea } from "@mantine/core";
import { IconLink } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { pluralize } from "@/ui/format/numbers";
import { isSecondClick } from "@/ui/pointer/secondClick";
import { isComplete, NEW_LINK } from "./shareLinks";
import { TermsFields } from "./TermsFields";
import { useCreateLinks } from "./useCreateLinks";
import classes from "./ShareDialog.module.css";
import { Dialog } from "@/ui/Dialog";

interface Props {
  runs: readonly { id: string; title: string }[];
  onClose: () => void;
}

/** Create one link per run with the same terms, and copy them as a list. */
export default function ShareManyDialog({ runs, onClose }: Props): ReactElement {
  const [draft, setDraft] = useState(NEW_LINK);
  const create = useCreateLinks(runs.map((run) => ({ ...run, kind: "run" })));
  const count = pluralize(runs.length, "link");
  return (
    <Dialog onClose={onClose} title={`Share ${pluralize(runs.length, "run")}`} size="lg">
      <div className={classes.body}>
        <p className="muted">
          Each run gets a link, which opens only that run. You can revoke links on the page of the run.
        </p>
        <TermsFields draft={draft} onChange={setDraft} />
        <Group justify="flex-end">
          <Button
            data-autofocus
            leftSection={<IconLink size={15} aria-hidden />}
            onClick={(event) => isSecondClick(event) || create.mutate(draft)}
            loading={create.isPending}
            disabled={!isComplete(draft)}
          >
            Create and copy {count}
          </Button>
        </Group>
        {create.data && (
          <Textarea
            label="Copy them now: they are not shown again"
            value={create.data}
            readOnly
            autosize
            maxRows={12}
            onFocus={(event) => event.currentTarget.select()}
          />
        )}
      </div>
    </Dialog>
  );
}
