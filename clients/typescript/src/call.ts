import type { components } from "./openapi.js";

export type Job = components["schemas"]["Job"];
export type Settings = components["schemas"]["Settings"];
export type Problem = components["schemas"]["Problem"];

/** A call that the server has refused. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";

  constructor(
    readonly status: number,
    readonly problem: Problem,
    readonly retryAfter: number,
  ) {
    super(`${status} ${problem.title}${problem.detail ? `: ${problem.detail}` : ""}`);
  }
}

/** Options of each call. */
export interface CallOptions {
  /** Further headers of each request, for example to sign in. */
  headers?: Record<string, string>;
  /** Ends the waiting. The job goes on. */
  signal?: AbortSignal;
  /** How long the server may let a watch wait, as "30s". Defaults to 30s, at most 60s. */
  wait?: string;
  /** The delay before the first repetition of a call in milliseconds; it doubles up to 30 s. Defaults to 500. */
  backoff?: number;
}

/** The statuses of problems that pass. */
const passing = new Set([429, 502, 503, 504]);

const longest = 30_000;

/** Makes a call until it is answered. Without again it is not repeated. */
export async function call(url: string | URL, init: RequestInit, options: CallOptions, again = true): Promise<Response> {
  for (let pause = options.backoff ?? 500; ; pause = Math.min(2 * pause, longest)) {
    let after = 0;
    try {
      const response = await fetch(url, {
        ...init,
        headers: { ...options.headers, ...(init.headers as Record<string, string>) },
        signal: options.signal ?? null,
      });
      if (response.ok) {
        // The body is read here, so that a connection that is lost meanwhile counts too.
        const body = await response.blob();
        return new Response(response.status === 204 ? null : body, response);
      }
      throw await problemOf(response);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof ProblemError) {
        if (!again || !passing.has(error.status)) {
          throw error;
        }
        after = error.retryAfter * 1000;
      } else if (!again || !(error instanceof TypeError)) {
        throw error; // no lost connection
      }
    }
    await delay(Math.max(pause * (1 - Math.random() / 4), after), options.signal);
  }
}

/** Makes an error of an answer, which may be that of a proxy. */
async function problemOf(response: Response): Promise<ProblemError> {
  let problem: Problem = { type: "about:blank", title: response.statusText, status: response.status };
  if (response.headers.get("Content-Type")?.startsWith("application/problem+json")) {
    problem = (await response.json()) as Problem;
  }
  return new ProblemError(response.status, problem, Number(response.headers.get("Retry-After")) || 0);
}

function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      if (signal?.aborted) {
        reject(signal.reason);
      } else {
        resolve();
      }
    }
  });
}
