import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, type RenderResult } from "@testing-library/react";
import type { ReactElement } from "react";

/** Draws a piece with what every page has around it. Nothing is fetched: `known` holds the answers by query key. */
export function renderInApp(element: ReactElement, cached: [readonly unknown[], unknown][] = []): RenderResult {
  const client = new QueryClient({ defaultOptions: { queries: { enabled: false, retry: false } } });
  for (const [key, value] of cached) client.setQueryData(key, value);
  return render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>{element}</QueryClientProvider>
    </MantineProvider>,
  );
}
