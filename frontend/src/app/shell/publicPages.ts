/** Whether a page works without an account. Such pages have no rail. */
export function isPublicPage(pathname: string): boolean {
  return /^\/(share\/|login\b)/.test(pathname);
}
