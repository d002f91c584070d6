import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { judgementNamesQuery, outcomeRuleQuery } from "@/api/outcomes";
import { facetsQuery } from "@/api/runs/runs";
import { paths } from "@/app/paths";
import { EmptyState } from "@/ui/EmptyState";
import { LoadedList } from "@/ui/ListPage";
import { Page, PageHeader } from "@/ui/Page";
import { Agreements } from "./Agreements";
import { RuleEditor } from "./RuleEditor";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/settings/outcomes");

/** What decides whether the runs of an app passed. */
export function OutcomesPage(): ReactElement {
  usePageTitle("Outcomes");
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: facets } = useQuery(facetsQuery);
  const apps = (facets?.apps ?? []).map(({ value }) => value);
  const app = search.app ?? apps[0];
  return (
    <Page>
      <PageHeader
        crumbs={[<Link {...paths.settings()}>Settings</Link>]}
        title="Outcomes"
        note="What decides whether a run passed. A change also updates the runs that are stored."
      />
      {facets && !app && (
        <EmptyState title="No apps yet">Each app has its own rule. Import or record a run first.</EmptyState>
      )}
      {app && (
        <>
          <Select
            label="App"
            data={[...new Set([...apps, app])]}
            value={app}
            allowDeselect={false}
            searchable={apps.length > 8}
            maw={320}
            onChange={(next) => void navigate({ search: { app: next ?? app }, replace: true })}
          />
          <AppRule app={app} />
        </>
      )}
    </Page>
  );
}

function AppRule({ app }: { app: string }): ReactElement {
  const { data: access } = useQuery(accessQuery);
  const rule = useQuery(outcomeRuleQuery(app));
  const { data: names } = useQuery(judgementNamesQuery(app));
  return (
    <LoadedList listing={rule}>
      {(current) => (
        <>
          <RuleEditor
            key={`${app} ${current.at ?? ""}`}
            app={app}
            current={current}
            names={names?.names ?? []}
            mayEdit={access?.role === "admin"}
          />
          <Agreements names={names?.names ?? []} />
        </>
      )}
    </LoadedList>
  );
}
