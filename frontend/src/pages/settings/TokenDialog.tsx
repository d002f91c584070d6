import { Button, Select, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement, type SubmitEvent } from "react";
import { createToken, tokensQuery } from "@/api/settings";
import type { TokenRequest } from "@/api/schema";
import { SecretField } from "@/ui/SecretField";
import classes from "./Settings.module.css";
import { Dialog } from "@/ui/Dialog";
import { failureWords } from "@/ui/failure/failure";

const ROLES: { value: TokenRequest["role"]; label: string; permission: string }[] = [
  { value: "viewer", label: "viewer", permission: "Reads everything; changes nothing." },
  { value: "sender", label: "sender", permission: "Records runs; reads nothing. For agents." },
  { value: "debugger", label: "debugger", permission: "Also imports, replays, compares and shares." },
  { value: "admin", label: "admin", permission: "Also reviews tools and creates tokens." },
];

/** Create a token and show its secret once. */
export function TokenDialog({ onClose }: { onClose: () => void }): ReactElement {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<TokenRequest["role"]>("viewer");
  const create = useMutation({
    mutationFn: () => createToken({ name: name.trim(), role }),
    onSuccess: () => client.invalidateQueries({ queryKey: tokensQuery.queryKey }),
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (name.trim() !== "") create.mutate();
  };
  const secret = create.data?.secret;
  return (
    <Dialog onClose={onClose} title="New API token">
      {secret ? (
        <div className={classes.form}>
          <SecretField value={secret} />
          <p className={classes.roles}>
            Programs send it as <code>Authorization: Bearer …</code>, the command line reads{" "}
            <code>FORKPOINT_TOKEN</code>, people paste it on the sign-in page.
          </p>
        </div>
      ) : (
        <form className={classes.form} onSubmit={submit}>
          <TextInput
            label="Name"
            description="Who or what will use it. Decisions and links are recorded under this name."
            value={name}
            maxLength={120}
            data-autofocus
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Select
            label="Role"
            data={ROLES.map(({ value, label }) => ({ value, label }))}
            value={role}
            allowDeselect={false}
            onChange={(value) => setRole(value ?? "viewer")}
          />
          <p className={classes.roles}>{ROLES.find(({ value }) => value === role)?.permission}</p>
          {create.error && <p className="failed">{failureWords(create.error)}</p>}
          <Button type="submit" loading={create.isPending} disabled={name.trim() === ""}>
            Create token
          </Button>
        </form>
      )}
    </Dialog>
  );
}
