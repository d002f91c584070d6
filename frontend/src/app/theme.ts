import { createTheme, rem, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";

// Shade 6 has AA contrast with white text in the light theme, shade 3 with dark text in the dark theme.
const iris: MantineColorsTuple = [
  "#eceefb", "#d5d9f6", "#b4bbec", "#99a3ff", "#7480e6", "#5a67d6", "#4452c6", "#3a46ab", "#2f398c", "#23263f",
]; // oxfmt-ignore
const stone: MantineColorsTuple = [
  "#faf9f7", "#f2f0ed", "#e9e6e1", "#e5e2dd", "#d3cfc8", "#8a857c", "#625e57", "#4d4a44", "#33312d", "#1d1c1a",
]; // oxfmt-ignore
const night: MantineColorsTuple = [
  "#eceae6", "#cfccc5", "#a8a39a", "#96918a", "#3b3935", "#2b2a27", "#1f1e1c", "#1a1a18", "#151513", "#121211",
]; // oxfmt-ignore
// Shades 6 and 3 are the tokens for failures.
const brick: MantineColorsTuple = [
  "#fbe9e7", "#f6d3d0", "#f4aaa4", "#f2837b", "#e06a62", "#c8473f", "#b3302a", "#992823", "#7b201c", "#321a18",
]; // oxfmt-ignore

export const theme = createTheme({
  fontFamily: "var(--font)",
  fontFamilyMonospace: "var(--mono)",
  primaryColor: "iris",
  primaryShade: { light: 6, dark: 3 },
  autoContrast: true,
  luminanceThreshold: 0.35,
  colors: { iris, gray: stone, dark: night, red: brick },
  black: "#1d1c1a",
  defaultRadius: 7,
  fontSizes: { xs: rem(11.5), sm: rem(12.5), md: rem(13), lg: rem(15), xl: rem(17) },
  spacing: { xs: rem(6), sm: rem(8), md: rem(12), lg: rem(16), xl: rem(24) },
  components: {
    Button: {
      defaultProps: { size: "compact-md" },
      styles: { root: { height: rem(28), paddingInline: rem(11), fontSize: rem(12.5), fontWeight: 600 } },
      // Mantine picks the text colour for the light theme's shade. The dark theme's shade needs dark text.
      vars: (_theme: unknown, { variant = "filled", color }: { variant?: string; color?: string }) => ({
        root: variant === "filled" && color === undefined ? { "--button-color": "var(--on-accent)" } : {},
      }),
    },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray", size: 28 } },
    // Mantine's notes below a field are 9.5 px.
    InputWrapper: { styles: { description: { fontSize: rem(12) }, error: { fontSize: rem(12) } } },
    TextInput: { defaultProps: { size: "xs", dir: "auto" } },
    Textarea: { defaultProps: { size: "xs", dir: "auto" } },
    NumberInput: { defaultProps: { size: "xs" } },
    Select: { defaultProps: { size: "xs", comboboxProps: { shadow: "md" } } },
    MultiSelect: { defaultProps: { size: "xs", comboboxProps: { shadow: "md" } } },
    Autocomplete: { defaultProps: { size: "xs", comboboxProps: { shadow: "md" } } },
    Checkbox: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "xs" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Tooltip: { defaultProps: { openDelay: 350, withinPortal: true, multiline: true, maw: 340 } },
    // Focus goes to the first item. Mantine's placeholder would not be a valid menu item.
    // Long labels are cut off in their item; a flex item does not shrink below its content by itself.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false }, styles: { itemLabel: { minWidth: 0 } } },
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
    Modal: {
      defaultProps: { centered: true, radius: 10 },
      styles: {
        title: {
          fontSize: rem(15),
          fontWeight: 620,
          letterSpacing: "-0.01em",
          textTransform: "none",
          color: "var(--text)",
        },
      },
    },
  },
});

/** Mantine's surfaces in our tokens, which differ by theme themselves. */
const surfaces = {
  "--mantine-color-body": "var(--panel)",
  "--mantine-color-text": "var(--text)",
  "--mantine-color-dimmed": "var(--muted)",
  "--mantine-color-placeholder": "var(--faint)",
  "--mantine-color-default-border": "var(--line-strong)",
  "--mantine-color-default-hover": "var(--hover)",
  "--mantine-color-error": "var(--failed)",
  "--mantine-color-anchor": "var(--accent)",
};

/** Mantine has its own for each theme, which only those of the same theme replace. */
export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: surfaces, dark: surfaces });
