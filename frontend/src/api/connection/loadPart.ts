import { connection } from "./connection";

/** Load a part of the program. If the server is unreachable, wait for it and try again. */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch {
    await connection.recover();
    await reloadStyles();
    return load();
  }
}

/** Load the style sheets again that could not be loaded: the bundler asks for each only once. */
async function reloadStyles(): Promise<void> {
  const links = [...document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')];
  await Promise.all(links.filter(({ sheet }) => sheet === null).map(reload));
}

function reload(link: HTMLLinkElement): Promise<void> {
  return new Promise((resolve) => {
    const copy = link.cloneNode() as HTMLLinkElement;
    copy.onload = copy.onerror = () => resolve();
    link.replaceWith(copy);
  });
}
