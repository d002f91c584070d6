import { ActionIcon, Autocomplete, Button, NumberInput, Textarea, Tooltip } from "@mantine/core";
import { IconArrowDown, IconArrowUp, IconPlus, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useMemo, type ReactElement } from "react";
import type { JsonValue } from "@/api/schema";
import { retrieversQuery } from "@/api/tools/trials";
import { isObject } from "@/ui/format/json";
import type { Document } from "@/domain/steps/content";
import { addDocument, needsNewSearch, changeDocument, moveDocument, profilesOf } from "./documents";
import { setField, entryFor } from "../edits";
import { JsonField } from "./fields";
import { FieldHead } from "@/features/overrides/text/FieldHead";
import { TextField } from "@/features/overrides/text/TextField";
import classes from "../Fork.module.css";
import type { EditorProps } from "./types";

/** Who makes the search that the changes need. */
function SearchNote({ draft, engine }: Pick<EditorProps, "draft" | "engine">): ReactElement | null {
  if (engine === "agent") {
    return <p className="muted">The agent searches with these settings, where its search has such arguments.</p>;
  }
  if (draft.policy.allow?.includes("retrieval")) return null;
  return (
    <p className="muted">
      No search is made: the policy below does not allow retrievers. Enter the documents here, or allow retrievers.
    </p>
  );
}

/** Edit a retrieval: its documents, or the query that finds them. */
export function RetrievalEditor({
  step,
  draft,
  engine,
  onChange,
  documents,
}: EditorProps & { documents: Document[] }): ReactElement {
  const match = { step: step.sequence_no };
  const { data: retrieverList } = useQuery(retrieversQuery);
  const profiles = useMemo(() => profilesOf(retrieverList?.retrievers ?? []), [retrieverList]);
  const retrieval = entryFor(draft, match)?.retrieval;
  const input = isObject(step.input) ? step.input : {};
  const recordedDocuments =
    isObject(step.output) && Array.isArray(step.output["documents"]) ? step.output["documents"] : [];
  const candidates: Record<string, JsonValue>[] = retrieval?.documents ?? recordedDocuments.filter(isObject);
  const query = typeof input["query"] === "string" ? input["query"] : "";
  const setDocuments = (next: Record<string, JsonValue>[] | undefined) =>
    onChange(setField(draft, match, "retrieval", "documents", next));
  return (
    <>
      <TextField
        label="Query"
        recordedText={query}
        value={retrieval?.query ?? undefined}
        onChange={(text) => onChange(setField(draft, match, "retrieval", "query", text))}
      />
      <NumberInput
        label="Max documents"
        min={0}
        allowDecimal={false}
        placeholder={typeof input["top_k"] === "number" ? String(input["top_k"]) : "as recorded"}
        value={retrieval?.top_k ?? ""}
        onChange={(value) =>
          onChange(setField(draft, match, "retrieval", "top_k", value === "" ? undefined : Number(value)))
        }
      />
      <Autocomplete
        label="Embedding profile"
        placeholder={typeof input["embedding_profile"] === "string" ? input["embedding_profile"] : "as recorded"}
        data={profiles}
        value={retrieval?.embedding_profile ?? ""}
        data-edited={retrieval?.embedding_profile !== undefined}
        onChange={(profile) => onChange(setField(draft, match, "retrieval", "embedding_profile", profile || undefined))}
      />
      <JsonField
        label="Filters"
        rows={1}
        recordedValue={isObject(input["filters"]) ? input["filters"] : {}}
        value={retrieval?.filters ?? undefined}
        check={(value) => (isObject(value) ? null : 'filters must be an object such as {"language": "en"}')}
        onChange={(value) =>
          onChange(setField(draft, match, "retrieval", "filters", isObject(value) ? value : undefined))
        }
      />
      {needsNewSearch(retrieval, recordedDocuments.length) && <SearchNote draft={draft} engine={engine} />}
      <FieldHead
        label={`Documents (${candidates.length} of ${documents.length} recorded)`}
        isEdited={retrieval?.documents != null}
        onReset={() => setDocuments(undefined)}
      />
      <ol className={classes.documents}>
        {candidates.map((document, index) => {
          const name = typeof document["id"] === "string" ? document["id"] : `document ${index + 1}`;
          const content =
            typeof document["content"] === "string" ? document["content"] : JSON.stringify(document["content"]);
          return (
            <li key={index}>
              <div className="bar">
                <b className="ellipsis grow">{name}</b>
                <DocumentAction
                  label={`Move ${name} up`}
                  isDisabled={index === 0}
                  onClick={() => setDocuments(moveDocument(candidates, index, -1))}
                >
                  <IconArrowUp size={13} />
                </DocumentAction>
                <DocumentAction
                  label={`Move ${name} down`}
                  isDisabled={index === candidates.length - 1}
                  onClick={() => setDocuments(moveDocument(candidates, index, 1))}
                >
                  <IconArrowDown size={13} />
                </DocumentAction>
                <DocumentAction
                  label={`Remove ${name}`}
                  onClick={() => setDocuments(candidates.filter((_, position) => position !== index))}
                >
                  <IconTrash size={13} />
                </DocumentAction>
              </div>
              <Textarea
                aria-label={`Text of ${name}`}
                autosize
                minRows={2}
                maxRows={6}
                value={content}
                onChange={(event) => setDocuments(changeDocument(candidates, index, event.currentTarget.value))}
              />
            </li>
          );
        })}
      </ol>
      <div>
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={13} />}
          onClick={() => setDocuments(addDocument(candidates))}
        >
          Add a document
        </Button>
      </div>
    </>
  );
}

function DocumentAction(props: {
  label: string;
  isDisabled?: boolean;
  onClick: () => void;
  children: ReactElement;
}): ReactElement {
  return (
    <Tooltip label={props.label}>
      <ActionIcon size={22} aria-label={props.label} disabled={props.isDisabled ?? false} onClick={props.onClick}>
        {props.children}
      </ActionIcon>
    </Tooltip>
  );
}
