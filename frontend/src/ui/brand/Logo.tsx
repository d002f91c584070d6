import type { ReactElement } from "react";

export function Logo(): ReactElement {
  return (
    <svg viewBox="0 0 32 32" width="27" height="27" aria-hidden="true">
      <rect width="32" height="32" rx="9" fill="var(--accent)" />
      <g fill="none" stroke="var(--on-accent)" strokeWidth="2.6" strokeLinecap="round">
        <path d="M10 7v18" />
        <path d="M10 19c0-5 12-3 12-9" />
      </g>
      <g fill="var(--on-accent)">
        <circle cx="10" cy="25" r="2.6" />
        <circle cx="10" cy="7" r="2.6" />
        <circle cx="22" cy="8.5" r="2.6" />
      </g>
    </svg>
  );
}
