/** The command that starts a runner of an app and allows these tools, to be completed with the user's own. */
export function runnerCommand(app: string, origin: string, allowedTools: readonly string[] = []): string {
  const consent = allowedTools.map((name) => `--allow-tool ${quote(name)} `).join("");
  return `forkpoint runner --app ${quote(app)} --url ${origin} ${consent}-- python agent.py {input}`;
}

/** A command as it is typed in a shell. */
export function shellWords(words: readonly string[]): string {
  return words.map(quote).join(" ");
}

function quote(word: string): string {
  return /^[\w@%+=:,./{}-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
