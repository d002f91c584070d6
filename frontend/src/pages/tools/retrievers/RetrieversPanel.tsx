import { useQuery } from "@tanstack/react-query";
import { IconListSearch } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { retrieversQuery } from "@/api/tools/trials";
import type { RetrieverView } from "@/api/schema";
import { EmptyState } from "@/ui/EmptyState";
import { LoadedList } from "@/ui/ListPage";
import list from "@/ui/ListPage.module.css";
import { useRowSelection } from "@/ui/keyboard/useRowSelection";
import { RetrieverDialog } from "./RetrieverDialog";
import { servesWords } from "./wording";
import classes from "../ToolsPage.module.css";

/** The configured retrievers, in the order in which they are matched with a step. */
export function RetrieversPanel({ isAdmin }: { isAdmin: boolean }): ReactElement {
  const listing = useQuery(retrieversQuery);
  return (
    <LoadedList listing={listing}>
      {({ retrievers }) =>
        retrievers.length === 0 ? (
          <EmptyState icon={<IconListSearch size={28} stroke={1.5} />} title="No retriever is configured">
            Name a Chroma or Qdrant collection, a table with pgvector, or an HTTP endpoint in FORKPOINT_RETRIEVERS, and
            replays can search it again.
          </EmptyState>
        ) : (
          <Table retrievers={retrievers} isAdmin={isAdmin} />
        )
      }
    </LoadedList>
  );
}

function Table({ retrievers, isAdmin }: { retrievers: readonly RetrieverView[]; isAdmin: boolean }): ReactElement {
  const [openName, setOpenName] = useState<string | null>(null);
  const { selectedIndex, body } = useRowSelection("Retrievers", retrievers.length, (index) =>
    setOpenName(retrievers[index]?.name ?? null),
  );
  const openRetriever = retrievers.find(({ name }) => name === openName);
  return (
    <div className={list.scroll}>
      <table className={`${list.table} ${list.stacking}`}>
        <thead>
          <tr>
            <th scope="col">Retriever</th>
            <th scope="col">Source</th>
            <th scope="col">Serves</th>
            <th scope="col">Query embedding</th>
          </tr>
        </thead>
        <tbody ref={body}>
          {retrievers.map((retriever, index) => (
            <tr key={retriever.name} data-selected={index === selectedIndex}>
              <th scope="row">
                <button
                  type="button"
                  className={`${list.name} ${classes.name}`}
                  onClick={() => setOpenName(retriever.name)}
                >
                  {retriever.name}
                </button>
              </th>
              <td data-label="Source">{retriever.asks}</td>
              <td data-label="Serves">{servesWords(retriever)}</td>
              <td data-label="Query embedding">
                {retriever.embeddings.length === 0 && <span className="muted">by the store</span>}
                {retriever.embeddings.map(({ name, by }) => (
                  <div key={name}>
                    {name} <span className="muted">{by}</span>
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {openRetriever && (
        <RetrieverDialog retriever={openRetriever} isAdmin={isAdmin} onClose={() => setOpenName(null)} />
      )}
    </div>
  );
}
