/** The command that starts a runner of an app, to be completed with the user's own. */
export function runnerCommand(app: string, origin: string): string {
  return `forkpoint runner --app ${quote(app)} --url ${origin} -- python agent.py {input}`;
}

/** A command as it is typed in a shell. */
export function shellWords(words: readonly string[]): string {
  return words.map(quote).join(" ");
}

function quote(word: string): string {
  return /^[\w@%+=:,./{}-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
