// The type of a step's error, which providers, tools and tracebacks state in front of its message.

const TYPE =
  /^((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Timeout|Interrupt|Failure|Exit|Expired|Denied))(?::\s*|$)/;

interface StepError {
  /** Such as `ValueError`; empty if the text states none. */
  type: string;
  message: string;
}

/** Split `ValueError: no such order` into its type and message. A traceback keeps its full text. */
export function readError(error: string): StepError {
  const text = error.trim();
  const lastLine = text.slice(text.lastIndexOf("\n") + 1);
  const isTraceback = text.startsWith("Traceback (most recent call last)");
  const [prefix = "", type = ""] = TYPE.exec(isTraceback ? lastLine : text) ?? [];
  return { type, message: isTraceback ? text : text.slice(prefix.length) };
}
