import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import { logout } from "@/api/access";
import type { Access } from "@/api/schema";
import { PanelHead } from "@/ui/Page";

/** Who is signed in, on a server with login. */
export function AccountPanel({ access }: { access: Access }): ReactElement | null {
  if (!access.login_required || access.role === null) return null;
  return (
    <section className="panel">
      <PanelHead>
        <h2>Account</h2>
        <span className="muted grow">
          Signed in as {access.name}, with the role {access.role}.
        </span>
        <Button variant="default" onClick={() => void logout().then(() => window.location.assign("/login"))}>
          Sign out
        </Button>
      </PanelHead>
    </section>
  );
}
