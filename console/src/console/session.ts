// Who is logged in.
import { createContext, useContext } from "react";
import type { SessionInfo } from "../data/api";

export interface Session extends SessionInfo {
  mayOperate: boolean;
  logOut(): Promise<void>;
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("no session");
  return session;
}
