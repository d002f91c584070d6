import { Tooltip } from "@mantine/core";
import {
  IconActivity,
  IconApi,
  IconHelp,
  IconListDetails,
  IconSearch,
  IconSettings,
  IconTool,
  type Icon,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useRouterState, type LinkProps } from "@tanstack/react-router";
import { lazy, useEffect, useRef, useState, type ReactElement, type ReactNode } from "react";
import { accessQuery, logout } from "@/api/access";
import { tourQuery } from "@/api/tour";
import { loadPart } from "@/api/connection/loadPart";
import { paths, serverPaths } from "@/app/paths";
import { ConnectionBanner } from "./ConnectionBanner";
import { FileDrop } from "./FileDrop";
import { handleKey, useShortcuts } from "@/ui/keyboard/shortcuts";
import { Logo } from "@/ui/brand/Logo";
import { LateDialog } from "@/ui/late/LateDialog";
import { isPublicPage } from "./publicPages";
import { usePaletteQuery } from "./usePaletteQuery";
import { TourBar } from "./TourBar";
import classes from "./Shell.module.css";

const HelpDialog = lazy(() => loadPart(() => import("./HelpDialog")));
const Palette = lazy(() => loadPart(() => import("./Palette")));

/** The frame of every page: the navigation rail (a bottom bar on phones), the skip link and the global shortcuts. */
export function Shell({ children }: { children: ReactNode }): ReactElement {
  const [help, setHelp] = useState(false);
  const [palette, setPalette] = useState(false);
  const paletteQuery = usePaletteQuery(palette);
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const bare = isPublicPage(path);

  useEffect(() => {
    document.addEventListener("keydown", handleKey);
    return () => document.removeEventListener("keydown", handleKey);
  }, []);
  useEffect(() => main.current?.focus({ preventScroll: true }), [path]);
  const hasTour = useTour(!bare && (help || palette));
  useEverywhere({ bare, hasTour, onHelp: () => setHelp(true), onPalette: () => setPalette(!palette) });

  return (
    <div className={bare ? classes.bare : classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      {!bare && <Rail onHelp={() => setHelp(true)} onPalette={() => setPalette(true)} />}
      <div className={classes.content}>
        <div>
          <ConnectionBanner />
          {!bare && <TourBar />}
        </div>
        <main id="main" ref={main} tabIndex={-1} className={classes.main}>
          {children}
        </main>
      </div>
      {!bare && <FileDrop />}
      <LateDialog opened={help}>
        {(opened) => <HelpDialog opened={opened} hasTour={hasTour} onClose={() => setHelp(false)} />}
      </LateDialog>
      {!bare && (
        <LateDialog opened={palette}>
          {(opened) => (
            <Palette
              opened={opened}
              query={paletteQuery.text}
              onQuery={paletteQuery.setText}
              onClose={() => setPalette(false)}
            />
          )}
        </LateDialog>
      )}
    </div>
  );
}

/** Whether there is a tour. Asked when a place that offers it opens. */
function useTour(isOffered: boolean): boolean {
  const { data: tour } = useQuery({ ...tourQuery, enabled: isOffered });
  return tour?.run != null;
}

/** Shortcuts of every screen. A shared report links nowhere, so it has only the help. */
function useEverywhere(props: { bare: boolean; hasTour: boolean; onHelp: () => void; onPalette: () => void }): void {
  const navigate = useNavigate();
  const { data: access } = useQuery({ ...accessQuery, enabled: !props.bare });
  const pages = [
    { keys: "1", action: "Go to runs", run: () => void navigate(paths.runs()) },
    { keys: "2", action: "Go to activity", run: () => void navigate(paths.activity()) },
    { keys: "3", action: "Go to tools", run: () => void navigate(paths.tools()) },
    { keys: "4", action: "Go to settings", run: () => void navigate(paths.settings()) },
    { keys: "", action: "Go to replays", run: () => void navigate(paths.activity({ kind: "replay" })) },
    { keys: "", action: "Go to diffs", run: () => void navigate(paths.activity({ kind: "diff" })) },
    { keys: "", action: "Go to experiments", run: () => void navigate(paths.activity({ kind: "experiment" })) },
    { keys: "", action: "Go to bisections", run: () => void navigate(paths.activity({ kind: "bisection" })) },
    { keys: "", action: "Go to runners", run: () => void navigate(paths.runners()) },
    { keys: "", action: "Go to hooks and telemetry", run: () => void navigate(paths.hooks()) },
    { keys: "", action: "Connect an agent", run: () => void navigate(paths.connect()) },
    ...(props.hasTour ? [{ keys: "", action: "Tour of the demo", run: () => void navigate(paths.tour()) }] : []),
    { keys: "", action: "Compare two runs", run: () => void navigate(paths.compare()) },
    { keys: "", action: "API documentation", run: () => window.open(serverPaths.apiDocs, "_blank") },
    { keys: "mod+k", action: "Search pages, actions and runs", run: props.onPalette, whileTyping: true },
  ];
  const help = { keys: "?", action: "Show keyboard shortcuts", run: props.onHelp };
  const logoutCommand = {
    keys: "",
    action: "Sign out",
    run: () => void logout().then(() => window.location.assign("/login")),
  };
  useShortcuts(
    "Everywhere",
    props.bare ? [help] : [...pages, help, ...(access?.login_required ? [logoutCommand] : [])],
    true,
  );
}

function Rail({ onHelp, onPalette }: { onHelp: () => void; onPalette: () => void }): ReactElement {
  return (
    <nav className={classes.rail} aria-label="Main">
      <Link {...paths.runs()} className={classes.logo} aria-label="Forkpoint: go to runs">
        <Logo />
      </Link>
      <Page label="Runs" link={paths.runs()} icon={IconListDetails} activeOn={/^\/(runs\/|tree\/|connect$|tour$|$)/} />
      <Page label="Activity" link={paths.activity()} icon={IconActivity} activeOn={ACTIVITY} />
      <Page label="Tools" link={paths.tools()} icon={IconTool} activeOn={/^\/tools/} />
      <Page label="Settings" link={paths.settings()} icon={IconSettings} activeOn={/^\/settings/} />
      <span className={classes.space} />
      <Item label="Search pages, actions and runs ( Ctrl K )">
        <button type="button" className={classes.item} onClick={onPalette}>
          <IconSearch size={18} stroke={1.7} />
          <span>Search</span>
        </button>
      </Item>
      <Item label="API documentation, in a new tab">
        <a
          href={serverPaths.apiDocs}
          target="_blank"
          rel="noreferrer"
          className={`${classes.item} ${classes.deskOnly}`}
          aria-label="API documentation"
        >
          <IconApi size={18} stroke={1.7} />
          <span>API</span>
        </a>
      </Item>
      <Item label="Keyboard shortcuts ( ? )">
        <button type="button" className={classes.item} onClick={onHelp} aria-label="Help: keyboard shortcuts">
          <IconHelp size={18} stroke={1.7} />
          <span>Help</span>
        </button>
      </Item>
    </nav>
  );
}

/** The pages of what the activity lists. */
const ACTIVITY = /^\/(activity|replays|diffs|compare|experiments|bisections|calibrations)/;

/** A page in the rail. `activeOn` matches the addresses on which it is highlighted. */
function Page(props: { label: string; link: LinkProps; icon: Icon; activeOn: RegExp }): ReactElement {
  const Shape = props.icon;
  const isActive = useRouterState({ select: (state) => props.activeOn.test(state.location.pathname) });
  return (
    <Link
      {...props.link}
      className={`${classes.item} ${isActive ? classes.active : ""}`}
      aria-current={isActive ? "page" : undefined}
    >
      <Shape size={18} stroke={1.7} />
      <span>{props.label}</span>
    </Link>
  );
}

function Item({ label, children }: { label: string; children: ReactElement }): ReactElement {
  return (
    <Tooltip label={label} position="right">
      {children}
    </Tooltip>
  );
}
