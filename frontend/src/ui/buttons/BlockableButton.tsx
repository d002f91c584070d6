import { Button, Tooltip, type ButtonProps } from "@mantine/core";
import type { ComponentPropsWithoutRef, ReactElement } from "react";

interface Props extends ButtonProps, Omit<ComponentPropsWithoutRef<"button">, keyof ButtonProps> {
  isBlocked: boolean;
  /** Why it is blocked, for its tooltip. */
  reason?: string | undefined;
}

/** A button that stays in the order of focus while it does nothing, unlike a disabled one. */
export function BlockableButton({ isBlocked, reason, onClick, ...props }: Props): ReactElement {
  const button = (
    <Button
      {...props}
      data-disabled={isBlocked || undefined}
      aria-disabled={isBlocked}
      onClick={isBlocked ? undefined : onClick}
    />
  );
  if (reason === undefined) return button;
  return (
    <Tooltip label={reason} disabled={!isBlocked}>
      {button}
    </Tooltip>
  );
}
