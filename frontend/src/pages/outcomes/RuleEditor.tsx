import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type ReactNode } from "react";
import { outcomeRuleQuery, saveOutcomeRule } from "@/api/outcomes";
import type { JudgementName, OutcomeRuleView } from "@/api/schema";
import { fullTime, timeAgo } from "@/ui/format/numbers";
import { Deciders } from "./Deciders";
import { draftOf, draftProblem, isEqualRule, toRule } from "./draft";
import classes from "./Outcomes.module.css";
import { Tags } from "./Tags";
import { Thresholds } from "./Thresholds";
import { PanelHead } from "@/ui/Page";

interface Props {
  app: string;
  current: OutcomeRuleView;
  names: JudgementName[];
  mayEdit: boolean;
}

/** The rule of one app: what decides and in which order, the bounds of scores, and tags. */
export function RuleEditor({ app, current, names, mayEdit }: Props): ReactElement {
  const client = useQueryClient();
  const [draft, setDraft] = useState(draftOf(current));
  const save = useMutation({
    mutationFn: () => saveOutcomeRule(app, toRule(draft)),
    onSuccess: (rule) => {
      client.setQueryData(outcomeRuleQuery(app).queryKey, rule);
      return client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] === "runs" || queryKey[0] === "run" });
    },
  });
  const problem = draftProblem(draft);
  const isChanged = !isEqualRule(draft, draftOf(current));
  const parts = { draft, setDraft, names, current };
  return (
    <fieldset className={classes.rule} disabled={!mayEdit}>
      <Part
        title="What decides"
        note="The first row that applies. If none does, a failed run has failed; any other is unknown."
        add="Add a source"
        onAdd={() => setDraft({ ...draft, deciders: [...draft.deciders, { source: "import", name: "" }] })}
      >
        <Deciders {...parts} />
      </Part>
      <Part
        title="Scores"
        note="A score decides only if it has a bound."
        add="Add a bound"
        onAdd={() =>
          setDraft({ ...draft, thresholds: [...draft.thresholds, { name: "", side: "at_least", value: "" }] })
        }
      >
        <Thresholds {...parts} />
      </Part>
      <Part
        title="Tags"
        note="A tag counts like an imported verdict. A fork does not have its source's tags."
        add="Add a tag"
        onAdd={() => setDraft({ ...draft, tags: [...draft.tags, { tag: "", outcome: "failed" }] })}
      >
        <Tags {...parts} />
      </Part>
      <footer className={classes.foot}>
        <span className="muted" role="status">
          {stateWords(current, mayEdit)}
        </span>
        {(save.error ?? problem) && <span className="failed">{save.error?.message ?? problem}</span>}
        <Button
          variant="default"
          disabled={!mayEdit}
          onClick={() => setDraft({ deciders: current.default_deciders, thresholds: [], tags: [] })}
        >
          Use the default
        </Button>
        <Button
          loading={save.isPending}
          disabled={!mayEdit || !isChanged || problem !== null}
          onClick={() => save.mutate()}
        >
          Save rule
        </Button>
      </footer>
    </fieldset>
  );
}

interface FrameProps {
  title: string;
  note: string;
  add: string;
  onAdd: () => void;
  children: ReactNode;
}

function Part({ title, note, add, onAdd, children }: FrameProps): ReactElement {
  return (
    <section className="panel" aria-label={title}>
      <PanelHead>
        <h2>{title}</h2>
        <span className="muted">{note}</span>
        <Button variant="default" leftSection={<IconPlus size={14} />} onClick={onAdd}>
          {add}
        </Button>
      </PanelHead>
      {children}
    </section>
  );
}

function stateWords({ is_applied, by, at }: OutcomeRuleView, mayEdit: boolean): string {
  if (!is_applied) return "Updating the outcomes of stored runs…";
  if (!mayEdit) return "Changing the rule requires the admin role.";
  return at ? `Saved by ${by || "local"}, ${timeAgo(at)} (${fullTime(at)})` : "This app uses the default rule.";
}
