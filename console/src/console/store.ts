// A value that components follow.
import { useSyncExternalStore } from "react";

export class Store<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  get = (): T => this.value;

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    this.listeners.forEach((listener) => listener());
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };
}

export function useStore<T>(store: Store<T>): T {
  // The third is for pages that are made as text, as tests do.
  return useSyncExternalStore(store.subscribe, store.get, store.get);
}
