import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, type RenderResult } from "@testing-library/react";
import type { ReactElement } from "react";

/** Render an element inside the app's providers. Nothing is fetched: `cached` contains the responses by query key. */
export function renderInApp(element: ReactElement, cached: [readonly unknown[], unknown][] = []): RenderResult {
  const client = new QueryClient({ defaultOptions: { queries: { enabled: false, retry: false } } });
  for (const [key, value] of cached) client.setQueryData(key, value);
  return render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>{element}</QueryClientProvider>
    </MantineProvider>,
  );
}
