import { NumberInput, Select, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { IconSearch } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { trialsQuery, tryRetriever } from "@/api/tools/trials";
import type { JsonValue, RetrieverView } from "@/api/schema";
import { BlockableButton } from "@/ui/buttons/BlockableButton";
import { isObject } from "@/ui/format/json";
import { JsonArea } from "../trial/JsonArea";
import { servesWords } from "./wording";
import classes from "../ToolsPage.module.css";
import { TrialHistory, TrialResult } from "../trial/TrialResult";
import { Dialog } from "@/ui/Dialog";
import { failureWords } from "@/ui/failure/failure";

interface Props {
  retriever: RetrieverView;
  isAdmin: boolean;
  onClose: () => void;
}

/** The source of a retriever, and a form to test it. */
export function RetrieverDialog({ retriever, isAdmin, onClose }: Props): ReactElement {
  return (
    <Dialog onClose={onClose} title={retriever.name} size="lg">
      <div className={classes.detail}>
        <p>
          Queries {retriever.asks} for {servesWords(retriever)}. Times out after {retriever.timeout_s} s.
        </p>
        <h2>Test query</h2>
        {isAdmin ? (
          <RetrieverTrial retriever={retriever} />
        ) : (
          <p className="muted">Only admins can run test queries.</p>
        )}
      </div>
    </Dialog>
  );
}

function RetrieverTrial({ retriever }: { retriever: RetrieverView }): ReactElement {
  const client = useQueryClient();
  const [query, setQuery] = useState("");
  const [topK, setTopK] = useState<number | null>(null);
  const [profile, setProfile] = useState<string | null>(null);
  const [filters, setFilters] = useState<Record<string, JsonValue> | null | "invalid">(null);
  const [shownTrial, setShownTrial] = useState<string | null>(null);
  const blocker = query === "" ? "Enter a query first" : filters === "invalid" ? "The filters are not valid JSON" : "";
  const start = useMutation({
    mutationFn: () =>
      tryRetriever({
        name: retriever.name,
        query,
        top_k: topK,
        filters: filters === "invalid" ? null : filters,
        embedding_profile: profile,
      }),
    onSuccess: ({ id }) => {
      setShownTrial(id);
      void client.invalidateQueries(trialsQuery("retrieval", retriever.name));
    },
  });
  return (
    <form
      className={classes.trial}
      onSubmit={(event) => {
        event.preventDefault();
        if (blocker === "" && !start.isPending) start.mutate();
      }}
    >
      <TextInput data-autofocus label="Query" value={query} onChange={(event) => setQuery(event.currentTarget.value)} />
      <div className={classes.pair}>
        <NumberInput
          label="Max documents"
          min={0}
          max={1000}
          allowDecimal={false}
          placeholder={String(retriever.top_k)}
          value={topK ?? ""}
          onChange={(value) => setTopK(value === "" ? null : Number(value))}
        />
        {retriever.embeddings.length > 0 && (
          <Select
            label="Embedding profile"
            clearable
            placeholder={retriever.embedding}
            data={retriever.embeddings.map(({ name }) => name)}
            value={profile}
            onChange={setProfile}
          />
        )}
      </div>
      <JsonArea
        label="Filters"
        placeholder='{"language": "en"}'
        check={(value) => (isObject(value) ? null : 'Filters must be an object such as {"language": "en"}.')}
        onChange={(input) => setFilters(input === null ? "invalid" : isObject(input.value) ? input.value : null)}
      />
      <div>
        <BlockableButton
          type="submit"
          leftSection={<IconSearch size={14} />}
          isBlocked={blocker !== ""}
          reason={blocker}
          loading={start.isPending}
        >
          Test query
        </BlockableButton>
      </div>
      {start.error && (
        <p className="failed" role="alert">
          {failureWords(start.error)}
        </p>
      )}
      {shownTrial && <TrialResult key={shownTrial} id={shownTrial} />}
      <TrialHistory kind="retrieval" name={retriever.name} onShow={setShownTrial} />
    </form>
  );
}
