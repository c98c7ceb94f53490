// The part of the address behind the question mark: what a page shows is in it, so that a link shows the same.
import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

export function useAddress(): [URLSearchParams, (change: Record<string, string>) => void] {
  const search = useSearch();
  const [path, go] = useLocation();
  const params = useMemo(() => new URLSearchParams(search), [search]);
  const set = useCallback((change: Record<string, string>) => {
    const next = new URLSearchParams(location.search);
    for (const [key, value] of Object.entries(change)) {
      if (value === "") next.delete(key);
      else next.set(key, value);
    }
    const text = next.toString();
    go(text ? `${path}?${text}` : path, { replace: true });
  }, [path, go]);
  return [params, set];
}
