import { IconGitFork, IconPlayerPlay } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState, type ReactElement } from "react";
import { launch } from "@/api/replays/forks";
import type { SessionView } from "@/api/schema";
import { paths } from "@/app/paths";
import { toRequest, type Draft } from "@/domain/overrides/draft";
import { TextField } from "@/features/overrides/text/TextField";
import { BlockableButton } from "@/ui/buttons/BlockableButton";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { showFailure } from "@/ui/failure/failure";
import classes from "./Tour.module.css";
import type { TourReplay } from "./useTourReplay";

/** The one step that the page asks for. */
const LARGE = { root: { height: 48, paddingInline: 20, borderRadius: 10, fontSize: 16 } };

interface Props {
  runId: string;
  fork: number;
  /** The changes of the demo's own fork. */
  fix: Draft;
  recordedPrompt: string;
  mayReplay: boolean;
  replay: TourReplay | null;
  onLaunch: (session: SessionView) => void;
}

/** The fork: the prompt with the sentence that was missing, and the button that replays it. */
export function ForkSide(props: Props): ReactElement {
  const { fork, fix, recordedPrompt, replay } = props;
  const [prompt, setPrompt] = useState(() => promptOf(fix));
  const side = useScrollToEnd();
  const start = useMutation({
    mutationFn: () => {
      const request = toRequest(props.runId, fork, withPrompt(fix, prompt));
      return launch({ ...request, engine: "auto" }, crypto.randomUUID());
    },
    onSuccess: props.onLaunch,
    onError: (error) => showFailure("The replay did not start", error),
  });
  const isBusy = start.isPending || replay !== null;
  const obstacle = props.mayReplay
    ? prompt === undefined
      ? "Change the prompt first."
      : ""
    : "Your role cannot start replays.";
  const launchFork = () => {
    if (!isBusy && !obstacle) start.mutate();
  };
  useShortcuts("Tour", [{ keys: "mod+Enter", action: "Replay", run: launchFork, whileTyping: true }]);
  return (
    <div className={`${classes.side} ${classes.fork}`} ref={side}>
      <h2 className={classes.title}>
        <IconGitFork size={19} className="accent" aria-hidden /> Change one sentence and replay
      </h2>
      <TextField label="System prompt" recordedText={recordedPrompt} value={prompt} onChange={setPrompt} maxRows={9} />
      {replay ? (
        <Result replay={replay} />
      ) : (
        <div className={classes.go}>
          <BlockableButton
            size="lg"
            styles={LARGE}
            leftSection={<IconPlayerPlay size={19} aria-hidden />}
            loading={start.isPending}
            isBlocked={obstacle !== ""}
            aria-keyshortcuts="Control+Enter"
            onClick={launchFork}
          >
            Replay from step {fork}
          </BlockableButton>
          <span className="muted">{obstacle || "Takes a few seconds. Nothing leaves this machine."}</span>
        </div>
      )}
    </div>
  );
}

/** What comes of the replay, in the place of its button. */
function Result({ replay }: { replay: TourReplay }): ReactElement {
  const { session, error } = replay;
  if (error)
    return (
      <p className={classes.result}>
        <b className="failed">The replay failed.</b> {error} <Link {...paths.replay(session.id)}>Open the replay</Link>
      </p>
    );
  return (
    <p className={classes.result}>
      {replay.isShown ? (
        <>
          <small>Now the customer gets</small>“{session.answer}”
        </>
      ) : (
        <small>Replaying: each step gets a label that states where its output came from.</small>
      )}
    </p>
  );
}

function promptOf(draft: Draft): string | undefined {
  return draft.overrides.find((entry) => entry.prompt?.system != null)?.prompt?.system ?? undefined;
}

function withPrompt(draft: Draft, system: string | undefined): Draft {
  const overrides = draft.overrides.map((entry) =>
    entry.prompt?.system == null || system === undefined ? entry : { ...entry, prompt: { ...entry.prompt, system } },
  );
  return { ...draft, overrides };
}

/** Scroll the text field inside to its end, where the added sentence is. */
function useScrollToEnd() {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const field = element.current?.querySelector("textarea");
    if (field) field.scrollTop = field.scrollHeight;
  }, []);
  return element;
}
