// The console: who is logged in sees the page of the address, others the way in.
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Route, Switch } from "wouter";
import { ThemeContext } from "../charts/context";
import type { SessionInfo } from "../data/api";
import { call, get, Refused, whenLoggedOut } from "./api";
import { RunOfAddress } from "./RunOfAddress";
import { Home } from "./pages/Home";
import { Login } from "./pages/Login";
import { NotFound } from "./pages/NotFound";
import { useShownTheme } from "./prefs";
import { SessionContext, type Session } from "./session";
import { Shell } from "./Shell";
import { followSystem } from "./system";
import { Failure, Loading } from "./ui/states";

// Charts and the editor come when they are needed.
const Run = lazy(() => import("./pages/Run"));
const Submit = lazy(() => import("./pages/Submit"));
const Compare = lazy(() => import("./pages/Compare"));
const Performance = lazy(() => import("./pages/Performance"));
const Studies = lazy(() => import("./pages/Studies"));
const Study = lazy(() => import("./pages/Study"));
const StudyRun = lazy(() => import("./pages/StudyRun"));
const Targets = lazy(() => import("./pages/Targets"));
const Secrets = lazy(() => import("./pages/Secrets"));

export function App() {
  const theme = useShownTheme();
  const client = useQueryClient();
  const [note, setNote] = useState<string | null>(null);
  const session = useQuery({
    queryKey: ["session"],
    queryFn: async () => {
      try {
        return await get<SessionInfo>("session");
      } catch (error) {
        if (error instanceof Refused && error.status === 401) return null;
        throw error;
      }
    },
    staleTime: Infinity,
  });

  useEffect(() => {
    whenLoggedOut(() => {
      if (client.getQueryData(["session"])) setNote("You were logged out. Log in to go on where you were.");
      client.setQueryData(["session"], null);
    });
  }, [client]);

  const info = session.data;
  const value = useMemo<Session | null>(() => info ? {
    ...info,
    mayOperate: info.role === "operate",
    async logOut() {
      await call("DELETE", "session").catch(() => undefined);
      setNote("You are logged out.");
      client.clear();
      client.setQueryData(["session"], null);
    },
  } : null, [info, client]);

  useEffect(() => (value ? followSystem() : undefined), [value]);

  if (session.isError) return <main className="page" id="main"><Failure error={session.error} what="This console" onRetry={() => void session.refetch()} /></main>;
  if (session.isPending) return <main className="page" id="main"><Loading what="The console" /></main>;
  if (!value) {
    return <Login note={note} onLogin={(one) => { setNote(null); client.setQueryData(["session"], one); }} />;
  }
  return (
    <SessionContext.Provider value={value}>
      <ThemeContext.Provider value={theme}>
        <Shell>
          <Suspense fallback={<Loading what="The page" lines={8} />}>
            <Switch>
              <Route path="/" component={Home} />
              <Route path="/runs/:id"><RunOfAddress>{(id) => <Run key={id} id={id} />}</RunOfAddress></Route>
              <Route path="/submit/:how?">{({ how }) => <Submit how={how ?? "editor"} />}</Route>
              <Route path="/compare" component={Compare} />
              <Route path="/performance" component={Performance} />
              <Route path="/studies" component={Studies} />
              <Route path="/studies/:id">{({ id }) => <Study key={id} id={id} />}</Route>
              <Route path="/studies/:id/runs/:run">{({ id, run }) => <StudyRun key={run} id={id} run={run} />}</Route>
              <Route path="/targets/:kind?/:name?">{({ kind, name }) => <Targets kind={kind ?? null} name={name ?? null} />}</Route>
              <Route path="/secrets" component={Secrets} />
              <Route><NotFound /></Route>
            </Switch>
          </Suspense>
        </Shell>
      </ThemeContext.Provider>
    </SessionContext.Provider>
  );
}
