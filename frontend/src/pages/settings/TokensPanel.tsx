import { Button, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { revokeToken, tokensQuery } from "@/api/settings";
import type { TokenView } from "@/api/schema";
import { timeAgo, fullTime } from "@/ui/format/numbers";
import { LoadedList } from "@/ui/ListPage";
import list from "@/ui/ListPage.module.css";
import classes from "./Settings.module.css";
import { TokenDialog } from "./TokenDialog";
import { PanelHead } from "@/ui/Page";
import { showFailure } from "@/ui/failure/failure";

/** API tokens: people sign in with one, programs send it. */
export function TokensPanel({ isOpen }: { isOpen: boolean }): ReactElement {
  const [isDialogOpen, dialog] = useDisclosure(false);
  const listing = useQuery(tokensQuery);
  return (
    <section className="panel" aria-labelledby="tokens">
      <PanelHead>
        <h2 id="tokens">API tokens</h2>
        <span className="muted">Use a token to sign in or to call the API.</span>
        <Button leftSection={<IconPlus size={14} />} onClick={dialog.open}>
          New token
        </Button>
      </PanelHead>
      <LoadedList listing={listing}>
        {({ tokens }) => (tokens.length === 0 ? <None isOpen={isOpen} /> : <Tokens tokens={tokens} />)}
      </LoadedList>
      {isDialogOpen && <TokenDialog onClose={dialog.close} />}
    </section>
  );
}

function None({ isOpen }: { isOpen: boolean }): ReactElement {
  return (
    <p className={classes.none}>
      {isOpen
        ? "No tokens are needed: only this machine can reach the server. Access from other machines requires a token."
        : "There are no active tokens."}
    </p>
  );
}

function Tokens({ tokens }: { tokens: readonly TokenView[] }): ReactElement {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: revokeToken,
    onSuccess: () => client.invalidateQueries({ queryKey: tokensQuery.queryKey }),
    onError: (error) => showFailure("The token was not revoked", error),
  });
  return (
    <table className={`${list.table} ${list.stacking}`}>
      <thead>
        <tr>
          <th scope="col">Token</th>
          <th scope="col">Role</th>
          <th scope="col">Created</th>
          <th scope="col">Last used</th>
          <th scope="col">Revoke</th>
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <tr key={token.id}>
            <th scope="row">
              <span className={list.name}>{token.name}</span>
            </th>
            <td data-label="Role">{token.role}</td>
            <td data-label="Created" title={fullTime(token.created_at)}>
              {timeAgo(token.created_at)}
            </td>
            <td data-label="Last used" title={fullTime(token.last_used_at)}>
              {token.last_used_at === null ? "never" : timeAgo(token.last_used_at)}
            </td>
            <td>
              {/* Nobody can undo it: a second click decides. */}
              <Menu position="bottom-end">
                <Menu.Target>
                  <Button
                    variant="subtle"
                    color="red"
                    aria-label={`Revoke ${token.name}`}
                    loading={revoke.isPending && revoke.variables === token.id}
                  >
                    Revoke
                  </Button>
                </Menu.Target>
                <Menu.Dropdown>
                  <Menu.Label>What uses it loses access at once.</Menu.Label>
                  <Menu.Item color="red" onClick={() => revoke.mutate(token.id)}>
                    Revoke for good
                  </Menu.Item>
                </Menu.Dropdown>
              </Menu>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
