import { Button, Modal } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { purge, purgePlanQuery } from "@/api/retention";
import type { PlannedRunView, PurgePlanView, RetentionEffect, RetentionPolicyList } from "@/api/schema";
import { paths } from "@/app/paths";
import { citationWords } from "@/domain/retention/refusals";
import { bytes, fullTime, pluralize, timeAgo } from "@/ui/format/numbers";
import { LoadedList } from "@/ui/ListPage";
import list from "@/ui/ListPage.module.css";
import { draftOf, protectionWords, scopeWords, termsOf } from "./policies";
import { effectWords, planWords, protectedCount } from "./plan";
import classes from "./Retention.module.css";
import { PanelHead } from "@/ui/Page";
import { failureWords } from "@/ui/failure/failure";

/** What a purge would delete now, and what keeps the other runs that are due. */
export function PlanPanel(props: { list: RetentionPolicyList; mayEdit: boolean }): ReactElement {
  const { policies, purged_at } = props.list;
  const plan = useQuery(purgePlanQuery(policies.map((policy) => termsOf(draftOf(policy)))));
  return (
    <section className="panel" aria-labelledby="plan">
      <PanelHead>
        <h2 id="plan">If policies were applied now</h2>
        <span className="muted" title={purged_at === null ? undefined : fullTime(purged_at)}>
          {purged_at === null ? "Not applied yet." : `Last applied ${timeAgo(purged_at)}.`}
        </span>
        {plan.data && <PurgeButton plan={plan.data} mayEdit={props.mayEdit} />}
      </PanelHead>
      <LoadedList listing={plan}>{(data) => <Plan plan={data} />}</LoadedList>
    </section>
  );
}

function Plan({ plan }: { plan: PurgePlanView }): ReactElement {
  return (
    <div className={classes.plan}>
      <p className={classes.summary} role="status">
        A purge {planWords(plan)}
      </p>
      {plan.effects.length > 0 && <Effects effects={plan.effects} />}
      {plan.deletable_runs.length > 0 && (
        <RunTable title="Would be deleted" runs={plan.deletable_runs} total={plan.runs} />
      )}
      {plan.protected_runs.length > 0 && (
        <RunTable title="Due, but kept" runs={plan.protected_runs} total={protectedCount(plan.effects)} />
      )}
    </div>
  );
}

function Effects({ effects }: { effects: readonly RetentionEffect[] }): ReactElement {
  return (
    <ul className={classes.effects}>
      {effects.map((effect) => (
        <li key={`${effect.app} ${effect.tag}`}>
          <b>{scopeWords(effect)}</b> <span className="muted">after {pluralize(effect.days ?? 0, "day")}</span>
          <span className="num">{pluralize(effect.runs, "run")} to delete</span>
          {effectWords(effect) && <span className="muted num">kept: {effectWords(effect)}</span>}
        </li>
      ))}
    </ul>
  );
}

interface RunTableProps {
  title: string;
  runs: readonly PlannedRunView[];
  total: number;
}

function RunTable({ title, runs, total }: RunTableProps): ReactElement {
  const hasReason = runs.some(({ protection }) => protection !== "");
  return (
    <section aria-label={title}>
      <h3 className={classes.caption}>
        {title} <span className="muted num">{total}</span>
      </h3>
      <table className={`${list.table} ${list.stacking}`}>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">App</th>
            {hasReason && <th scope="col">Kept because</th>}
            <th scope="col">Policy</th>
            <th scope="col" className={list.figure}>
              Arrived
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id}>
              <th scope="row">
                <Link {...paths.run(run.id)} className={list.name}>
                  {run.name}
                </Link>
              </th>
              <td data-label="App">{run.app}</td>
              {hasReason && <td data-label="Kept because">{reasonWords(run)}</td>}
              <td data-label="Policy" className="muted">
                {scopeWords({ app: run.policy_app, tag: run.policy_tag })}: {pluralize(run.days, "day")}
              </td>
              <td data-label="Arrived" className={list.figure} title={fullTime(run.created_at)}>
                {timeAgo(run.created_at)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {total > runs.length && (
        <p className={classes.more}>
          The oldest {runs.length} of {total}.
        </p>
      )}
    </section>
  );
}

function reasonWords(run: PlannedRunView): string {
  const citations = citationWords(run.citations);
  return run.protection === "cited" && citations ? `cited by ${citations}` : protectionWords(run);
}

function PurgeButton({ plan, mayEdit }: { plan: PurgePlanView; mayEdit: boolean }): ReactElement {
  const client = useQueryClient();
  const [opened, dialog] = useDisclosure(false);
  const start = useMutation({
    mutationFn: purge,
    onSuccess: ({ runs, size }) => {
      dialog.close();
      notifications.show({ message: `${pluralize(runs, "run")} deleted, ${bytes(size)} freed.` });
      return client.invalidateQueries();
    },
  });
  const isEmpty = plan.runs === 0;
  const reason = mayEdit ? "No run is due" : "Needs the admin role";
  return (
    <>
      <Button
        variant="default"
        disabled={!mayEdit || isEmpty}
        title={!mayEdit || isEmpty ? reason : undefined}
        onClick={dialog.open}
      >
        Purge now
      </Button>
      <Modal
        opened={opened}
        onClose={dialog.close}
        title={`Delete ${pluralize(plan.runs, "run")} now?`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <div className={classes.form}>
          <p>
            Their contents ({bytes(plan.size)}) are removed at once and cannot be restored. Pinned, held and cited runs
            stay.
          </p>
          {start.error && (
            <p className="failed" role="alert">
              {failureWords(start.error)}
            </p>
          )}
          <div className={classes.answers}>
            <Button variant="default" onClick={dialog.close} data-autofocus>
              Cancel
            </Button>
            <Button color="red" variant="outline" loading={start.isPending} onClick={() => start.mutate()}>
              Purge {pluralize(plan.runs, "run")}
            </Button>
          </div>
        </div>
      </Modal>
    </>
  );
}
