// Where a study and its runs are, in the interface and in the console.

/** The path of a study in the interface, with its id made safe. */
export function ofStudy(id: string, rest = ""): string {
  return `studies/${encodeURIComponent(id)}${rest}`;
}

export function studyPath(id: string): string {
  return `/studies/${encodeURIComponent(id)}`;
}

export function runPath(id: string, run: string): string {
  return `${studyPath(id)}/runs/${encodeURIComponent(run)}`;
}
