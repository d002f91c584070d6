/** Whether a page is for people without an account: it has no rail, and asks the server for nothing else. */
export function isPublicPage(pathname: string): boolean {
  return /^\/(share\/|login\b)/.test(pathname);
}
