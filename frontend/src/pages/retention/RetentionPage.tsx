import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { retentionQuery } from "@/api/retention";
import { paths } from "@/app/paths";
import { LoadedList } from "@/ui/ListPage";
import { Page, PageHeader } from "@/ui/Page";
import { AuditPanel } from "./AuditPanel";
import { PlanPanel } from "./PlanPanel";
import { PoliciesPanel } from "./PoliciesPanel";
import { usePageTitle } from "@/ui/brand/usePageTitle";

/** How long runs are kept: policies, what a purge would delete now, and the audit log. */
export function RetentionPage(): ReactElement {
  usePageTitle("Retention");
  const { data: access } = useQuery(accessQuery);
  const policies = useQuery(retentionQuery);
  const mayEdit = access?.role === "admin";
  return (
    <Page>
      <PageHeader
        crumbs={[<Link {...paths.settings()}>Settings</Link>]}
        title="Retention"
        note={`How long runs are kept. Policies are applied once a day.${access && !mayEdit ? " Only admins can change them." : ""}`}
      />
      <LoadedList listing={policies} height={92}>
        {(list) => (
          <>
            <PoliciesPanel list={list} mayEdit={mayEdit} />
            {list.policies.length > 0 && <PlanPanel list={list} mayEdit={mayEdit} />}
          </>
        )}
      </LoadedList>
      <AuditPanel />
    </Page>
  );
}
