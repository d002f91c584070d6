import { ActionIcon, Checkbox, Popover } from "@mantine/core";
import { IconFilter } from "@tabler/icons-react";
import { useMemo, type ReactElement } from "react";
import type { StepSummary } from "@/api/schema";
import { count } from "@/ui/format/numbers";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { markOf, markWord, type Mark } from "@/domain/steps/labels";
import { StepIcon } from "@/features/steps/StepIcon";
import classes from "./Steps.module.css";
import type { StepFilter } from "./tree";

interface Props {
  steps: StepSummary[];
  filter: StepFilter;
  onChange: (filter: StepFilter) => void;
}

function tally<T>(values: T[]): [T, number][] {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts];
}

/** Filter by type, label and status of the run's steps. */
export function StepFilterMenu({ steps, filter, onChange }: Props): ReactElement {
  const types = useMemo(() => tally(steps.map((step) => step.type)), [steps]);
  const marks = useMemo(() => tally<Mark>(steps.map(markOf)), [steps]);
  const statuses = useMemo(() => tally(steps.map((step) => step.status)), [steps]);
  const active = filter.types.length + filter.marks.length + filter.statuses.length;
  return (
    <Popover position="bottom-end" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon
          variant={active > 0 ? "light" : "subtle"}
          color={active > 0 ? "iris" : "gray"}
          aria-label={active > 0 ? `Filter: ${active} chosen` : "Filter by type, label and status"}
        >
          <IconFilter size={15} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className={classes.menu}>
        <Checkbox.Group
          label="Type"
          value={[...filter.types]}
          onChange={(values) => onChange({ ...filter, types: values })}
        >
          {types.map(([type, number]) => (
            <Checkbox
              key={type}
              value={type}
              label={<Option icon={<StepIcon type={type} />} word={type} number={number} />}
            />
          ))}
        </Checkbox.Group>
        <Checkbox.Group
          label="Label"
          value={[...filter.marks]}
          onChange={(values) => onChange({ ...filter, marks: values })}
        >
          {marks.map(([mark, number]) => (
            <Checkbox
              key={mark}
              value={mark}
              label={<Option icon={<LabelGlyph mark={mark} silent />} word={markWord[mark]} number={number} />}
            />
          ))}
        </Checkbox.Group>
        {statuses.length > 1 && (
          <Checkbox.Group
            label="Status"
            value={[...filter.statuses]}
            onChange={(values) => onChange({ ...filter, statuses: values })}
          >
            {statuses.map(([status, number]) => (
              <Checkbox key={status} value={status} label={<Option word={status} number={number} />} />
            ))}
          </Checkbox.Group>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

function Option({ icon, word, number }: { icon?: ReactElement; word: string; number: number }): ReactElement {
  return (
    <span className="bar" style={{ gap: 7 }}>
      {icon} {word} <span className="muted num">{count(number)}</span>
    </span>
  );
}
