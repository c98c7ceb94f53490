// The run whose page the address leads to, as the address bar has it: what the router gives is decoded in part.
import type { ReactNode } from "react";
import { useRouter } from "wouter";
import { usePathname } from "wouter/use-browser-location";
import { runAt } from "./paths";

export function RunOfAddress({ children }: { children(id: string): ReactNode }) {
  const { ssrPath } = useRouter();
  return <>{children(runAt(usePathname(ssrPath === undefined ? {} : { ssrPath })))}</>;
}
