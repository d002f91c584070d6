import { Button, Tabs } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { createToken } from "@/api/settings";
import { isSecondClick } from "@/ui/pointer/secondClick";
import { failureWords } from "@/ui/failure/failure";
import { Arrival } from "./Arrival";
import classes from "./Connect.module.css";
import { CLIENTS, type Client } from "./clients";

/** What to set in an agent so that it records here, and whether its first step has arrived. */
export default function ConnectGuide(): ReactElement {
  const access = useQuery(accessQuery).data;
  const [token, setToken] = useState<string | null>(null);
  const needsToken = access?.login_required ?? false;
  return (
    <div className={classes.guide}>
      <Tabs defaultValue={CLIENTS[0]?.id} className={classes.tabs}>
        <Tabs.List aria-label="Client">
          {CLIENTS.map((client) => (
            <Tabs.Tab key={client.id} value={client.id}>
              {client.name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {CLIENTS.map((client) => (
          <Tabs.Panel key={client.id} value={client.id} className={classes.client}>
            <p className="muted">{client.note}</p>
            <Lines client={client} token={needsToken ? (token ?? "YOUR_TOKEN") : null} />
          </Tabs.Panel>
        ))}
      </Tabs>
      {needsToken && token === null && <TokenButton isAdmin={access?.role === "admin"} onToken={setToken} />}
      {token !== null && (
        <p className="muted">Copy the token now: it is not shown again. It can record runs but read nothing.</p>
      )}
      <Arrival />
    </div>
  );
}

function Lines({ client, token }: { client: Client; token: string | null }): ReactElement {
  const clipboard = useClipboard({ timeout: 2000 });
  const text = client.lines({ url: window.location.origin, token }).join("\n");
  return (
    <div className={classes.lines}>
      <pre tabIndex={0} aria-label={`Lines for ${client.name}`}>
        {text}
      </pre>
      <Button
        size="xs"
        variant="default"
        onClick={() => clipboard.copy(text)}
        leftSection={clipboard.copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      >
        {clipboard.copied ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}

function TokenButton(props: { isAdmin: boolean; onToken: (token: string) => void }): ReactElement {
  const create = useMutation({
    mutationFn: () => createToken({ name: `agents, ${new Date().toISOString().slice(0, 19)}`, role: "sender" }),
    onSuccess: ({ secret }) => {
      if (secret) props.onToken(secret);
    },
  });
  if (!props.isAdmin) {
    return (
      <p className="muted">
        Replace YOUR_TOKEN with a token that has the sender role. An admin creates one in Settings.
      </p>
    );
  }
  return (
    <div>
      <Button variant="default" loading={create.isPending} onClick={(event) => isSecondClick(event) || create.mutate()}>
        Create a token for agents
      </Button>
      {create.isError && <p className="failed">{failureWords(create.error)}</p>}
    </div>
  );
}
