import "./mapColors.css";

/** The context of a canvas of this size in CSS pixels. */
export function mapContext(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  context?.scale(scale, scale);
  return context;
}

/** The colours of a map by mark, each read once: `--map-exact` and others of its style. */
export function mapColors(canvas: HTMLCanvasElement): (name: string) => string {
  const style = getComputedStyle(canvas);
  const colors = new Map<string, string>();
  return (name) => {
    const color = colors.get(name) ?? (style.getPropertyValue(`--map-${name}`).trim() || style.color);
    colors.set(name, color);
    return color;
  };
}
