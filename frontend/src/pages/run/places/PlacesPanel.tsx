import { Button, Select, Tooltip, UnstyledButton } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconArrowsDiff, IconChevronDown, IconChevronRight, IconMapPinSearch } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { answer, api } from "@/api/client";
import { placesQuery } from "@/api/runs/runs";
import type { PlaceKindView, PlaceView, RunDetail, RunPlaces } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { paths } from "@/app/paths";
import { showFailure } from "@/ui/failure/failure";
import {
  firstSteps,
  kindChoices,
  measurementWords,
  nearness,
  needsPlaces,
  placesOfKind,
  precision,
  runWords,
} from "./wording";
import classes from "./PlacesPanel.module.css";

interface Props {
  run: RunDetail;
  onSelect: (sequenceNo: number) => void;
}

/** Places to check in a failed run. The panel states that none is a proven cause. */
export function PlacesPanel(props: Props): ReactElement | null {
  const isShown = needsPlaces(props.run);
  const { data, isLoading } = useQuery({ ...placesQuery(props.run.id), enabled: isShown });
  // Keeps the place of the panel, so that the steps below do not move.
  if (isLoading) return <div className={`panel ${classes.panel} ${classes.placeholder}`} />;
  if (!isShown || !data || (data.places.length === 0 && data.passing.length === 0)) return null;
  return <Panel onSelect={props.onSelect} places={data} />;
}

function Panel({ places, onSelect }: Pick<Props, "onSelect"> & { places: RunPlaces }): ReactElement {
  const [opened, setOpened] = useState(false);
  const Chevron = opened ? IconChevronDown : IconChevronRight;
  const [kind, setKind] = useState<string | null>(null);
  const kinds = new Map(places.kinds.map((kind) => [kind.kind, kind]));
  const visiblePlaces = placesOfKind(places.places, kind);
  return (
    <section className={`panel ${classes.panel}`} aria-label="Places to look at">
      <div className={classes.head}>
        <UnstyledButton className={classes.toggle} aria-expanded={opened} onClick={() => setOpened(!opened)}>
          <Chevron size={15} aria-hidden />
          <IconMapPinSearch size={16} aria-hidden />
          <b className={classes.title}>Places to look at</b>
          {opened && <span className="muted ellipsis">none is a proven cause</span>}
        </UnstyledButton>
        {!opened && <FirstPlaces places={places.places} onSelect={onSelect} />}
        {opened && places.kinds.length > 1 && <KindFilter kinds={places.kinds} kind={kind} onFilter={setKind} />}
        <Compare places={places} />
      </div>
      {opened && visiblePlaces.length > 0 && (
        <ol className={classes.list} aria-label="Places">
          {visiblePlaces.map((place, index) => (
            <li key={index}>
              <Row place={place} kind={kinds.get(place.kind)} onSelect={onSelect} />
            </li>
          ))}
        </ol>
      )}
      {opened && <Remarks places={places} />}
    </section>
  );
}

/** The folded panel: the first steps to look at, in one line. */
function FirstPlaces({ places, onSelect }: Pick<Props, "onSelect"> & { places: readonly PlaceView[] }): ReactElement {
  const steps = firstSteps(places);
  if (steps.length === 0) return <span className={`muted ellipsis ${classes.first}`}>{runWords(places)}</span>;
  return (
    <span className={`${classes.first} ${classes.firstSteps}`}>
      {steps.map(({ step, title }) => (
        <UnstyledButton key={step} className={classes.firstStep} onClick={() => onSelect(step)}>
          <b className="num">{step}</b> {title}
        </UnstyledButton>
      ))}
    </span>
  );
}

function KindFilter(props: {
  kinds: PlaceKindView[];
  kind: string | null;
  onFilter: (kind: string | null) => void;
}): ReactElement {
  const { kinds, kind, onFilter } = props;
  return (
    <Select
      className={classes.filter}
      size="xs"
      aria-label="Kind of place"
      data={kindChoices(kinds)}
      value={kind}
      onChange={onFilter}
      placeholder="All kinds"
      clearable
      clearButtonProps={{ "aria-label": "Show all kinds" }}
    />
  );
}

function Row({
  place,
  kind,
  onSelect,
}: {
  place: PlaceView;
  kind: PlaceKindView | undefined;
  onSelect: (sequenceNo: number) => void;
}): ReactElement {
  const { step } = place;
  const text = (
    <>
      <span className={`num ${classes.step} ${step === null ? "muted" : ""}`}>
        {step === null ? "run" : `step ${step}`}
      </span>
      <span className={classes.description}>
        <span>{place.title}</span>
        {place.text && <span className="muted"> — {place.text}</span>}
      </span>
    </>
  );
  return (
    <div className={classes.row}>
      {step === null ? (
        <div className={classes.link}>{text}</div>
      ) : (
        <UnstyledButton className={classes.link} onClick={() => onSelect(step)}>
          {text}
        </UnstyledButton>
      )}
      {kind && precision(kind) && (
        <Tooltip
          label={`${kind.title}. ${measurementWords(kind)}`}
          multiline
          w={340}
          style={{ whiteSpace: "pre-line" }}
        >
          <span className={`muted num ${classes.precision}`} tabIndex={0}>
            {precision(kind)}
          </span>
        </Tooltip>
      )}
    </div>
  );
}

function Remarks({ places }: { places: RunPlaces }): ReactElement | null {
  const remarks = [
    ...(places.places.length === 0 ? ["Nothing in the recording stands out."] : []),
    ...(places.left_out > 0 ? [`${pluralize(places.left_out, "more place")} of these kinds.`] : []),
    ...(places.unread > 0 ? [`${pluralize(places.unread, "step")} not read: content is missing or damaged.`] : []),
  ];
  return remarks.length > 0 ? <p className={`muted ${classes.remarks}`}>{remarks.join(" ")}</p> : null;
}

/** Compare with the nearest run that passed. */
function Compare({ places }: { places: RunPlaces }): ReactElement | null {
  const navigate = useNavigate();
  const compare = useMutation({
    mutationFn: (base: string) =>
      answer(api.POST("/api/v1/diffs", { body: { base, candidate: places.run, options: { similarity: "auto" } } })),
    onSuccess: (report) => void navigate(paths.diff(report.id)),
    onError: (error) => showFailure("The runs could not be compared", error),
  });
  const [nearest] = places.passing;
  if (!nearest) return null;
  return (
    <Tooltip label={`${nearest.name} (${nearness(nearest)})`} multiline maw={360}>
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<IconArrowsDiff size={14} />}
        classNames={{ section: classes.compareIcon }}
        loading={compare.isPending}
        onClick={() => compare.mutate(nearest.id)}
      >
        <span className={classes.compareWords}>Compare with a passing run</span>
      </Button>
    </Tooltip>
  );
}
