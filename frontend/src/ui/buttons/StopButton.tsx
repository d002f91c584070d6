import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { IconPlayerStop } from "@tabler/icons-react";
import type { ReactElement } from "react";

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
    onError: (error) => notifications.show({ color: "red", title: props.failureTitle, message: error.message }),
  });
  return (
    <Button variant="default" leftSection={<IconPlayerStop size={15} />} onClick={() => mutate()} loading={isPending}>
      {props.children}
    </Button>
  );
}
