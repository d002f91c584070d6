import { Menu } from "@mantine/core";
import {
  IconBookmark,
  IconCheck,
  IconDeviceFloppy,
  IconPencil,
  IconPlus,
  IconStar,
  IconStarOff,
  IconTrash,
} from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { loadPart } from "@/api/connection/loadPart";
import { createRunView, deleteRunView, renameRunView, runViewsQuery, updateRunView } from "@/api/runs/views";
import type { RunView } from "@/api/schema";
import { offerUndo } from "@/ui/offerUndo";
import { showFailure } from "@/ui/failure/failure";
import filterClasses from "../filters/Filters.module.css";
import type { RunsSearch } from "../search";
import { defaultViewQuery, storeDefaultView } from "./defaultView";
import { formatViewQuery, parseViewQuery } from "./viewQuery";

const ViewNameDialog = lazy(() => loadPart(() => import("./ViewNameDialog")));

interface Props {
  /** What the list shows, with its columns. */
  search: RunsSearch;
  onChange: (search: RunsSearch) => void;
}

/** Filters, order and columns under a name. The address stays what the list shows; a view only changes it. */
export default function ViewsMenu({ search, onChange }: Props): ReactElement {
  const client = useQueryClient();
  const { data: access } = useQuery(accessQuery);
  const { data } = useQuery(runViewsQuery);
  const [dialog, setDialog] = useState<"new" | "rename" | null>(null);
  const [defaultQuery, setDefaultQuery] = useState(defaultViewQuery);
  const query = formatViewQuery(search);
  const views = data?.views ?? [];
  const active = views.find((view) => view.query === query);
  const [lastId, setLastId] = useState<string | null>(null);
  if (active && active.id !== lastId) setLastId(active.id);
  // The view that the list showed before it changed.
  const changedView = active ? undefined : views.find((view) => view.id === lastId);
  const reload = () => client.invalidateQueries(runViewsQuery);
  const setDefault = (next: string | null) => {
    storeDefaultView(next);
    setDefaultQuery(next);
  };
  const remove = useMutation({
    mutationFn: deleteRunView,
    onSuccess: (_, view) => {
      const wasDefault = view.query === defaultQuery;
      if (wasDefault) setDefault(null);
      offerUndo(`The view “${view.name}” was deleted.`, "The view was not restored", async () => {
        await createRunView({ name: view.name, query: view.query });
        if (wasDefault) setDefault(view.query);
        await reload();
      });
    },
    onError: (error) => showFailure("The view was not deleted", error),
    onSettled: reload,
  });
  const store = async (view: RunView, next: string) => {
    await updateRunView(view, next);
    // An undo gets the view from before the update, and so sets the same default again.
    if (view.query === defaultQuery) setDefault(next);
    await reload();
  };
  const update = useMutation({
    mutationFn: (view: RunView) => store(view, query),
    onSuccess: (_, view) => {
      onChange(search);
      offerUndo(`The view “${view.name}” was updated.`, "The view was not changed back", () => store(view, view.query));
    },
    onError: (error) => showFailure("The view was not updated", error),
  });
  const mayChange = access?.role === "admin" || access?.role === "debugger";
  const mayChangeView = (view: RunView) => access?.role === "admin" || (mayChange && view.owner === access.name);
  const isDefault = active !== undefined && active.query === defaultQuery;
  return (
    <>
      <Menu position="bottom-start" shadow="md" width={300}>
        <Menu.Target>
          <button type="button" className={filterClasses.quiet} aria-label={active ? `View: ${active.name}` : "Views"}>
            <IconBookmark size={15} aria-hidden /> <span className="ellipsis">{active?.name ?? "Views"}</span>
          </button>
        </Menu.Target>
        <Menu.Dropdown mah={420} style={{ overflowY: "auto" }}>
          {views.length > 0 && <Menu.Label>Views of this server</Menu.Label>}
          {views.map((view) => (
            <Menu.Item
              key={view.id}
              leftSection={
                <IconCheck size={15} aria-label="Shown" visibility={view === active ? "visible" : "hidden"} />
              }
              rightSection={view.query === defaultQuery && <small className="muted">default</small>}
              onClick={() => onChange(parseViewQuery(view.query))}
            >
              {view.name}
            </Menu.Item>
          ))}
          {views.length > 0 && <Menu.Divider />}
          {active ? (
            <>
              <Menu.Item
                leftSection={isDefault ? <IconStarOff size={15} /> : <IconStar size={15} />}
                onClick={() => setDefault(isDefault ? null : active.query)}
              >
                {isDefault ? "Open Runs without this view" : "Open Runs with this view"}
                <div className="muted">In this browser</div>
              </Menu.Item>
              <Menu.Item
                leftSection={<IconPencil size={15} />}
                disabled={!mayChangeView(active)}
                onClick={() => setDialog("rename")}
              >
                Rename
                {!mayChangeView(active) && <div className="muted">Only its owner or an admin can</div>}
              </Menu.Item>
              <Menu.Item
                leftSection={<IconTrash size={15} />}
                disabled={!mayChangeView(active)}
                onClick={() => remove.mutate(active)}
              >
                Delete
                {!mayChangeView(active) && <div className="muted">Only its owner or an admin can</div>}
              </Menu.Item>
            </>
          ) : (
            <>
              {changedView && (
                <Menu.Item
                  leftSection={<IconDeviceFloppy size={15} />}
                  disabled={!mayChangeView(changedView)}
                  onClick={() => update.mutate(changedView)}
                >
                  Update “{changedView.name}”
                  <div className="muted">
                    {mayChangeView(changedView) ? "With what the list shows now" : "Only its owner or an admin can"}
                  </div>
                </Menu.Item>
              )}
              <Menu.Item leftSection={<IconPlus size={15} />} disabled={!mayChange} onClick={() => setDialog("new")}>
                {changedView ? "Save as another view" : "Save this view"}
                <div className="muted">{mayChange ? "Filters, order and columns" : "Needs the debugger role"}</div>
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      <Suspense>
        {dialog === "new" && (
          <ViewNameDialog
            title="Save this view"
            initialName=""
            onClose={() => setDialog(null)}
            onSave={async (name) => {
              await createRunView({ name, query });
              onChange(search);
              await reload();
            }}
          />
        )}
        {dialog === "rename" && active && (
          <ViewNameDialog
            title="Rename the view"
            initialName={active.name}
            onClose={() => setDialog(null)}
            onSave={(name) => renameRunView(active, name).then(reload)}
          />
        )}
      </Suspense>
    </>
  );
}
