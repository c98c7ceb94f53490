// Where a run is in the console. Its id may be the name of a directory, and so hold any sign but a slash.

/** The path of the page of a run, with its id as one part of it. */
export function runPage(id: string): string {
  return `/runs/${encodeURIComponent(id)}`;
}

/** The run whose page a path leads to. The path is that of the address bar: the router's has lost which per cent signs stood for others. */
export function runAt(path: string): string {
  const part = path.replace(/^.*?\/runs\//, "").replace(/\/$/, "");
  try {
    return decodeURIComponent(part);
  } catch {
    // Somebody typed a per cent sign that stands for none.
    return part;
  }
}
