import { Button, PasswordInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { login } from "@/api/access";
import { ProblemError } from "@/api/problem";
import { ProductLine } from "@/features/product/ProductLine";
import { Logo } from "@/ui/brand/Logo";
import classes from "./LoginPage.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/login");

/** Exchanges an API token for a session. */
export function LoginPage(): ReactElement {
  const { next = "/", expiry = false } = route.useSearch();
  const router = useRouter();
  const client = useQueryClient();
  const [token, setToken] = useState("");
  usePageTitle("Sign in");
  const enter = useMutation({
    mutationFn: () => login(token.trim()),
    onSuccess: () => {
      client.clear();
      router.history.push(next);
    },
  });
  return (
    <form
      className={classes.page}
      onSubmit={(event) => {
        event.preventDefault();
        enter.mutate();
      }}
    >
      <Logo />
      <h1>Sign in to Forkpoint</h1>
      <p>
        <ProductLine />
      </p>
      {expiry && (
        <p role="status">Your session has ended: its token was revoked, or you signed out. Sign in to go on.</p>
      )}
      <p className="muted">
        Paste an API token. The operator of this server creates one with <code>forkpoint token create</code>.
      </p>
      <PasswordInput
        label="API token"
        size="sm"
        value={token}
        onChange={(event) => setToken(event.currentTarget.value)}
        error={enter.error && loginProblem(enter.error)}
        autoComplete="current-password"
        spellCheck={false}
        autoFocus
        required
        visibilityToggleButtonProps={{ "aria-label": "Show or hide the token" }}
      />
      <Button type="submit" size="sm" fullWidth loading={enter.isPending} disabled={token.trim() === ""}>
        Sign in
      </Button>
    </form>
  );
}

function loginProblem(error: Error): string {
  if (error instanceof ProblemError && error.problem.status === 401)
    return "This token is unknown or revoked. Ask the operator for a new one.";
  return error.message;
}
