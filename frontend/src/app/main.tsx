import "./styles";
import "@/ui/format/textSize";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "@/api/client";
import { paths } from "./paths";
import { router } from "./router";
import { isPublicPage } from "@/app/shell/publicPages";
import { onLoginExpired } from "@/app/shell/loginExpiry";
import { Toasts } from "@/app/shell/Toasts";
import { cssVariables, theme } from "./theme";

onLoginExpired(queryClient, () => {
  const { pathname, href } = router.state.location;
  if (!isPublicPage(pathname)) void router.navigate(paths.login({ next: href, expiry: true }));
});

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no element #root");
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" cssVariablesResolver={cssVariables}>
      <Toasts />
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
