import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { showFailure } from "./failure/failure";

const UNDO_MS = 12_000;

/** Tell what was done, and offer to undo it. `failure` is the title of the message if that fails. */
export function offerUndo(message: string, failure: string, undo: () => Promise<unknown>): void {
  const start = async () => {
    notifications.hide(notice);
    try {
      await undo();
    } catch (error) {
      showFailure(failure, error);
    }
  };
  const notice = notifications.show({
    autoClose: UNDO_MS,
    message: (
      <span className="bar">
        <span className="grow">{message}</span>
        <Button variant="subtle" onClick={() => void start()}>
          Undo
        </Button>
      </span>
    ),
  });
}
