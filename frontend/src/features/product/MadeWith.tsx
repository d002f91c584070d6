import type { ReactElement } from "react";
import { ProductLine } from "./ProductLine";

/** The foot of a shared page: its readers may not know the product. */
export function MadeWith(): ReactElement {
  return (
    <>
      Made with Forkpoint. <ProductLine />
    </>
  );
}
