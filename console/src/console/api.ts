// Requests to the controller, and to nothing else. Every refusal becomes a `Refused` with its sentence.
import type { Mistake, Refusal } from "../data/api";

const BASE = "/api/v1/";

/** What the controller did not do, and why. */
export class Refused extends Error {
  constructor(
    /** HTTP status; 0 when the controller did not answer. */
    readonly status: number,
    message: string,
    readonly mistakes: Mistake[] = [],
  ) {
    super(message);
  }
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

let onLoggedOut: () => void = () => {};

/** Calls this when an answer says that nobody is logged in any more. */
export function whenLoggedOut(listener: () => void): void {
  onLoggedOut = listener;
}

export function loggedOut(): void {
  onLoggedOut();
}

export function apiPath(path: string): string {
  return BASE + path;
}

/** The path of a run, with its id made safe. */
export function ofRun(id: string, rest = ""): string {
  return `runs/${encodeURIComponent(id)}${rest}`;
}

async function send(method: Method, path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  // A page of another origin cannot set this header.
  if (method !== "GET") headers["X-Cosmark"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(apiPath(path), {
      method, headers, credentials: "same-origin", cache: "no-store",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, "The controller does not answer. Is it running, and is the network up?");
  }
  if (answer.ok) return answer;
  if (answer.status === 401 && path !== "session") onLoggedOut();
  throw await refusalOf(answer);
}

async function refusalOf(answer: Response): Promise<Refused> {
  try {
    const refusal = (await answer.json()) as Partial<Refusal>;
    if (typeof refusal.error === "string") return new Refused(answer.status, refusal.error, refusal.mistakes ?? []);
  } catch {
    // Not JSON: something between here and the controller answered.
  }
  return new Refused(answer.status, `The controller answered ${answer.status} ${answer.statusText}.`.trim());
}

/** A request with an answer in JSON; undefined where the answer is empty. */
export async function call<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const answer = await send(method, path, body, signal);
  const text = await answer.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return call<T>("GET", path, undefined, signal);
}

/** One sentence about any failure. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
