/** "local: desk-small-1" names the provider too; a bare name keeps the recorded one. */
export function parseModelName(text: string): { provider: string | null; model: string } {
  const [, provider, model] = /^([\w.-]+): (.+)$/.exec(text.trim()) ?? [];
  return provider && model ? { provider, model: model.trim() } : { provider: null, model: text.trim() };
}
