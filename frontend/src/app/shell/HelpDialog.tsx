import { Modal } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { paths } from "@/app/paths";
import { Keys } from "@/ui/keyboard/Kbd";
import { sectionsOf, useGroups } from "@/ui/keyboard/shortcuts";
import classes from "./HelpDialog.module.css";

interface Props {
  opened: boolean;
  hasTour: boolean;
  onClose: () => void;
}

export default function HelpDialog({ opened, hasTour, onClose }: Props): ReactElement {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Keyboard shortcuts"
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Sections />
      {hasTour && (
        <p className={classes.tour}>
          New here?{" "}
          <Link {...paths.tour()} onClick={onClose}>
            Take the tour
          </Link>
        </p>
      )}
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
