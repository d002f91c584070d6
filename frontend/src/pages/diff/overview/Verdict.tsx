import { Tooltip, UnstyledButton } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { Attribution, Brief, Deltas, Scores } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { costDelta, durationDelta, tokenDelta, type Delta } from "./deltas";
import { score } from "@/domain/diffs/score";
import { useReport } from "../reportContext";
import { OutcomeChange } from "./OutcomeChange";
import { METHOD, emphasise, verdictTitle } from "../wording";
import { CONFIDENCE } from "@/domain/diffs/confidence";
import classes from "./Verdict.module.css";

/** The verdict: what changed and why, with evidence and figures. */
export function Verdict(): ReactElement {
  const { attribution, summary, scores, deltas, brief, outcomes } = useReport().report;
  return (
    <section className={`panel ${classes.verdict}`} aria-label="Verdict">
      {outcomes && <OutcomeChange outcomes={outcomes} />}
      <div className={classes.words}>
        <h2>{verdictTitle(attribution)}</h2>
        <Sentence attribution={attribution} summary={summary} />
      </div>
      <Figures scores={scores} deltas={deltas} />
      <div className={classes.reasons}>
        {brief && <Lines brief={brief} confidence={attribution.confidence} />}
        {attribution.evidence.length > 0 && <EvidenceList lines={attribution.evidence} />}
      </div>
    </section>
  );
}

/** Longer sentences are set in a smaller font. */
const LONG = 230;

function Sentence({ attribution, summary }: { attribution: Attribution; summary: string }): ReactElement {
  const { before, strong, after } = emphasise(attribution.sentence || summary, attribution.primary?.title ?? null);
  return (
    <>
      <p className={classes.sentence} data-long={(before + strong + after).length > LONG}>
        {before}
        {strong && <b>{strong}</b>}
        {after}
      </p>
      {attribution.sentence && summary && summary !== attribution.sentence && (
        <p className={classes.summary}>{summary}</p>
      )}
    </>
  );
}

/** A summary for readers without context. The cause itself is in the sentence above. */
function Lines({ brief, confidence }: { brief: Brief; confidence: Attribution["confidence"] }): ReactElement {
  return (
    <dl className={classes.brief}>
      <dt>What is compared</dt>
      <dd>{brief.compared}</dd>
      <dt>What changed</dt>
      <dd>{brief.changed}</dd>
      <dt>Confidence</dt>
      <dd>
        <ConfidenceLevel words={brief.confidence} confidence={confidence} /> {brief.why}
      </dd>
      <dt>What next</dt>
      <dd>{brief.next}</dd>
    </dl>
  );
}

function ConfidenceLevel({
  words,
  confidence,
}: {
  words: string;
  confidence: Attribution["confidence"];
}): ReactElement {
  if (!confidence || words !== confidence) return <span className="chip">{words}</span>;
  const { mark, means, words: label } = CONFIDENCE[confidence];
  return (
    <Tooltip label={means}>
      <span className={`chip ${mark}`} tabIndex={0}>
        <LabelGlyph mark={mark} silent />
        {label}
      </span>
    </Tooltip>
  );
}

function EvidenceList({ lines }: { lines: readonly string[] }): ReactElement {
  const [open, setOpen] = useState(false);
  if (!open) {
    return (
      <UnstyledButton className={classes.more} aria-expanded={false} onClick={() => setOpen(true)}>
        Show {pluralize(lines.length, "line")} of evidence
      </UnstyledButton>
    );
  }
  return (
    <ul aria-label="Evidence" className={classes.evidence}>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

interface FiguresProps {
  scores: Scores;
  deltas: Deltas;
}

function Figures({ scores, deltas }: FiguresProps): ReactElement {
  const { tools } = scores;
  return (
    <dl className={`${classes.figures} num`}>
      <Figure
        name="ARS"
        value={score(scores.ars)}
        note={scores.ars_reading}
        hint={`${scores.ars_reading}. 0.7 × output similarity + 0.3 × tool accuracy.`}
      />
      <Figure
        name="answers"
        value={score(scores.output_similarity)}
        note={METHOD[scores.similarity_method] ?? scores.similarity_method}
        hint={`Average similarity of the answers of all turns, ${METHOD[scores.similarity_method] ?? scores.similarity_method}.`}
      />
      <Figure
        name="tools"
        value={score(scores.tool_accuracy)}
        note={`${tools.used_original} of ${tools.total_original}`}
        hint={`${tools.used_original} of ${pluralize(tools.total_original, "original tool call")} used, ${tools.new} new, ${tools.unused} unused.`}
      />
      <Change name="tokens" delta={tokenDelta(deltas.tokens)} />
      <Change name="cost" delta={costDelta(deltas.cost_usd)} />
      <Change name="time" delta={durationDelta(deltas.duration_ms)} />
    </dl>
  );
}

function Figure(props: { name: string; value: string; note: string; hint: string }): ReactElement {
  return (
    <Tooltip label={props.hint}>
      <div tabIndex={0}>
        <dt>{props.name}</dt>
        <dd>{props.value}</dd>
        <dd className={classes.note}>{props.note}</dd>
      </div>
    </Tooltip>
  );
}

function Change({ name, delta }: { name: string; delta: Delta }): ReactElement {
  const unknown = delta.text === "unknown";
  return (
    <div>
      <dt>{name}</dt>
      <dd className={unknown ? classes.unknown : classes[delta.direction]}>{delta.text}</dd>
    </div>
  );
}
