import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { redactionQuery } from "@/api/redaction";
import { facetsQuery } from "@/api/runs/runs";
import type { RedactionPolicyList } from "@/api/schema";
import { paths } from "@/app/paths";
import { LoadedList } from "@/ui/ListPage";
import { Page, PageHeader } from "@/ui/Page";
import { draftOf } from "./draft";
import { PolicyEditor } from "./PolicyEditor";
import { PolicyHistory } from "./PolicyHistory";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const ALL_APPS = "";

/** What of a run is stored: the detectors and field rules of all apps, and of each app. */
export function RedactionPage(): ReactElement {
  usePageTitle("Redaction");
  const { data: access } = useQuery(accessQuery);
  const policies = useQuery(redactionQuery);
  return (
    <Page>
      <PageHeader
        crumbs={[<Link {...paths.settings()}>Settings</Link>]}
        title="Redaction"
        note="What is replaced before a run is stored. A change applies to runs that arrive from now on; stored runs never change."
      />
      <LoadedList listing={policies}>
        {(list) => <Policies list={list} mayEdit={access?.role === "admin"} />}
      </LoadedList>
    </Page>
  );
}

function Policies({ list, mayEdit }: { list: RedactionPolicyList; mayEdit: boolean }): ReactElement {
  const [app, setApp] = useState(ALL_APPS);
  const { data: facets } = useQuery(facetsQuery);
  const names = new Set([
    ...list.policies.map((policy) => policy.app),
    ...(facets?.apps ?? []).map((facet) => facet.value),
  ]);
  names.delete(ALL_APPS);
  const policy = list.policies.find((candidate) => candidate.app === app);
  const options = [
    { value: ALL_APPS, label: "All apps" },
    ...[...names].sort().map((name) => ({ value: name, label: name })),
  ];
  return (
    <>
      <Select
        label="Policy of"
        description="An app has its own rules in addition to those of all apps."
        data={options}
        value={app}
        allowDeselect={false}
        searchable={options.length > 8}
        maw={320}
        onChange={(value) => setApp(value ?? ALL_APPS)}
      />
      <PolicyEditor
        key={`${app} ${policy?.version ?? 0}`}
        app={app}
        current={draftOf(policy)}
        list={list}
        mayEdit={mayEdit}
      />
      <PolicyHistory app={app} />
    </>
  );
}
