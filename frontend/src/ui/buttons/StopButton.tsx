import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { IconPlayerStop } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { showFailure } from "@/ui/failure/failure";

/** Stop a long-running task. `failureTitle` is the title of the error notification. */
export function StopButton<View>(props: {
  stop: () => Promise<View>;
  onStopped: (view: View) => unknown;
  failureTitle: string;
  children: string;
}): ReactElement {
  const { mutate, isPending } = useMutation({
    mutationFn: props.stop,
    onSuccess: props.onStopped,
    onError: (error) => showFailure(props.failureTitle, error),
  });
  return (
    <Button variant="default" leftSection={<IconPlayerStop size={15} />} onClick={() => mutate()} loading={isPending}>
      {props.children}
    </Button>
  );
}
