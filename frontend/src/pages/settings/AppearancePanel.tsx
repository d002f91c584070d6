import { SegmentedControl, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";
import type { ReactElement } from "react";
import { PanelHead } from "@/ui/Page";

const SCHEMES: { value: MantineColorScheme; label: string }[] = [
  { value: "auto", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

/** The colours of the cockpit in this browser. */
export function AppearancePanel(): ReactElement {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <section className="panel">
      <PanelHead>
        <h2>Appearance</h2>
        <span className="muted grow">The colours that this browser shows.</span>
        <SegmentedControl
          aria-label="Colours"
          data={SCHEMES}
          value={colorScheme}
          onChange={(value) => setColorScheme(value)}
        />
      </PanelHead>
    </section>
  );
}
