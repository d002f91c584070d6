import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconShare2 } from "@tabler/icons-react";
import { lazy, Suspense, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import type { ShareSubject } from "@/api/shares";
import { KeyHint } from "@/ui/keyboard/Kbd";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { SCOPES } from "./shareLinks";

const ShareDialog = lazy(() => loadPart(() => import("./ShareDialog")));

interface Props {
  subject: ShareSubject;
  /** The name of the page in the list of shortcuts. */
  group: string;
  /** Why the subject cannot be shared now. */
  refusal?: string | undefined;
}

/** Opens the links to what the page shows. */
export function ShareButton({ subject, group, refusal }: Props): ReactElement {
  const [isOpen, dialog] = useDisclosure(false);
  useShortcuts(group, [
    ...(refusal === undefined ? [{ keys: "s", action: SCOPES[subject.kind].title, run: dialog.open }] : []),
  ]);
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconShare2 size={14} stroke={2} />}
        rightSection={<KeyHint>s</KeyHint>}
        aria-keyshortcuts="s"
        disabled={refusal !== undefined}
        title={refusal}
        onClick={dialog.open}
      >
        Share
      </Button>
      {isOpen && (
        <Suspense>
          <ShareDialog subject={subject} onClose={dialog.close} />
        </Suspense>
      )}
    </>
  );
}
