import { Modal } from "@mantine/core";
import type { ReactElement } from "react";
import { Keys } from "@/ui/keyboard/Kbd";
import { sectionsOf, useGroups } from "@/ui/keyboard/shortcuts";
import classes from "./HelpDialog.module.css";

export function HelpDialog({ opened, onClose }: { opened: boolean; onClose: () => void }): ReactElement {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Keyboard shortcuts"
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Sections />
    </Modal>
  );
}

/** Rendered only while the dialog is open, so that registrations do not re-render a closed one. */
function Sections(): ReactElement {
  const groups = sectionsOf(useGroups());
  return (
    <div className={classes.groups}>
      {groups.map((group) => (
        <section key={group.name}>
          <h2>{group.name}</h2>
          <dl className={classes.list}>
            {group.shortcuts.map(({ keys, action }) => (
              <div key={keys}>
                <dt>{action}</dt>
                <dd>
                  <Keys keys={keys} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}
