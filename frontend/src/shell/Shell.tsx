import { Tooltip } from "@mantine/core";
import { IconApi, IconHelp, IconListDetails } from "@tabler/icons-react";
import { Link, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState, type ReactElement, type ReactNode } from "react";
import { paths, serverPaths } from "@/paths";
import { HelpDialog } from "./HelpDialog";
import { handleKey, useShortcuts } from "./keyboard";
import { Logo } from "./Logo";
import classes from "./Shell.module.css";

/** The frame of every page: the rail (a bar at the bottom of a phone), the skip link, the keys that work everywhere. */
export function Shell({ children }: { children: ReactNode }): ReactElement {
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const bare = path.startsWith("/share/") || path.startsWith("/login");

  useEffect(() => {
    document.addEventListener("keydown", handleKey);
    return () => document.removeEventListener("keydown", handleKey);
  }, []);
  useEffect(() => main.current?.focus({ preventScroll: true }), [path]);
  useShortcuts("Everywhere", [{ keys: "?", does: "Show the keyboard shortcuts", run: () => setHelp(true) }]);

  return (
    <div className={bare ? classes.bare : classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to the content
      </a>
      {!bare && <Rail onHelp={() => setHelp(true)} />}
      <main id="main" ref={main} tabIndex={-1} className={classes.main}>
        {children}
      </main>
      <HelpDialog opened={help} onClose={() => setHelp(false)} />
    </div>
  );
}

function Rail({ onHelp }: { onHelp: () => void }): ReactElement {
  return (
    <nav className={classes.rail} aria-label="Main">
      <Link {...paths.runs()} className={classes.logo} aria-label="Forkpoint, to the runs">
        <Logo />
      </Link>
      <Item label="Runs">
        <Link {...paths.runs()} className={classes.item} activeProps={{ className: classes.active }} aria-label="Runs">
          <IconListDetails size={18} stroke={1.7} />
          <span>Runs</span>
        </Link>
      </Item>
      <span className={classes.space} />
      <Item label="API documentation">
        <a href={serverPaths.apiDocs} className={classes.item} aria-label="API documentation">
          <IconApi size={19} stroke={1.7} />
          <span>API</span>
        </a>
      </Item>
      <Item label="Keyboard shortcuts ( ? )">
        <button type="button" className={classes.item} onClick={onHelp} aria-label="Keyboard shortcuts">
          <IconHelp size={19} stroke={1.7} />
          <span>Help</span>
        </button>
      </Item>
    </nav>
  );
}

function Item({ label, children }: { label: string; children: ReactElement }): ReactElement {
  return (
    <Tooltip label={label} position="right">
      {children}
    </Tooltip>
  );
}
