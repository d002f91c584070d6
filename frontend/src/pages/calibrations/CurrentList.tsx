import { CloseButton } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { setIgnoreList } from "@/api/replays/calibrations";
import type { IgnoreListView } from "@/api/schema";
import { fullTime } from "@/ui/format/numbers";
import { StateChip } from "@/features/labels/StateChip";
import { showFailure } from "@/ui/failure/failure";
import classes from "./Calibration.module.css";
import { ruleWords, sameRule } from "./rules";

/** The app's current ignore list. Removing a field creates the next version. */
export function CurrentList({ app, newest }: { app: string; newest: IgnoreListView | undefined }): ReactElement | null {
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: setIgnoreList,
    onSuccess: () => client.invalidateQueries({ queryKey: ["ignore-lists", app] }),
    onError: (error) => showFailure("The list was not changed", error),
  });
  if (!newest) return null;
  const { rules } = newest;
  return (
    <section className="panel" aria-labelledby="current">
      <header className={classes.head}>
        <h2 id="current">Ignore list {newest.version}</h2>
        <StateChip mark={newest.ready_at ? "exact" : "accent"}>
          {newest.ready_at ? "active" : "updating signatures…"}
        </StateChip>
        <span className="muted" title={fullTime(newest.at)}>
          set by {newest.by}
        </span>
      </header>
      {rules.length === 0 ? (
        <p className={classes.none}>Only the default fields are ignored.</p>
      ) : (
        <ul className={classes.rules}>
          {rules.map((rule) => (
            <li key={ruleWords(rule) + rule.pointer}>
              <span className="grow">
                <code className={classes.pointer}>{rule.pointer}</code> <span className="muted">{ruleWords(rule)}</span>
              </span>
              <CloseButton
                size="sm"
                aria-label={`Stop ignoring ${rule.pointer} of ${ruleWords(rule)}`}
                disabled={save.isPending}
                onClick={() => save.mutate({ app, rules: rules.filter((item) => !sameRule(item, rule)) })}
              />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
