/** Parse "local: desk-small-1" into provider and model. Without a prefix, the recorded provider applies. */
export function parseModelName(text: string): { provider: string | null; model: string } {
  const [, provider, model] = /^([\w.-]+): (.+)$/.exec(text.trim()) ?? [];
  return provider && model ? { provider, model: model.trim() } : { provider: null, model: text.trim() };
}
