import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useState, type ReactElement, type Ref } from "react";
import { Kbd } from "@/ui/keyboard/Kbd";

interface Props {
  /** The accessible name. */
  label: string;
  placeholder: string;
  /** The value in the address. */
  value: string;
  onChange: (text: string) => void;
  className: string | undefined;
  ref: Ref<HTMLInputElement>;
}

/** Search while typing. The address follows with a delay, and wins when it changes for another reason. */
export function SearchField({ label, placeholder, value, onChange, className, ref }: Props): ReactElement {
  const [text, setText] = useState(value);
  const [lastSent, setLastSent] = useState(value);
  const [lastSeen, setLastSeen] = useState(value);
  const send = useDebouncedCallback((next: string) => {
    setLastSent(next);
    onChange(next);
  }, 150);
  if (value !== lastSeen) {
    setLastSeen(value);
    // Ignore the echo of our own typing, which may have continued since.
    if (value !== lastSent) setText(value);
  }
  return (
    <TextInput
      ref={ref}
      className={className}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        send(event.currentTarget.value);
      }}
      onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      placeholder={placeholder}
      aria-label={label}
      leftSection={<IconSearch size={14} />}
      rightSection={<Kbd>/</Kbd>}
    />
  );
}
