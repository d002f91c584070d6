import { useLocalStorage } from "@mantine/hooks";

/** The name under which this browser comments on shared pages; empty before its first comment. */
export function useVisitorName(): [string, (name: string) => void] {
  const [name, setName] = useLocalStorage({ key: "visitor-name", defaultValue: "", getInitialValueInEffect: false });
  return [name, setName];
}
