import { useMounted } from "@mantine/hooks";
import { Suspense, type ReactElement } from "react";
import { useOnce } from "./useOnce";

/**
 * A dialog whose code loads when it opens first. It is told to open only after that: then it knows where the focus was.
 */
export function LateDialog(props: {
  opened: boolean;
  children: (opened: boolean) => ReactElement;
}): ReactElement | null {
  const isNeeded = useOnce(props.opened);
  return isNeeded ? (
    <Suspense>
      <Content {...props} />
    </Suspense>
  ) : null;
}

function Content(props: { opened: boolean; children: (opened: boolean) => ReactElement }): ReactElement {
  const isMounted = useMounted();
  return props.children(props.opened && isMounted);
}
