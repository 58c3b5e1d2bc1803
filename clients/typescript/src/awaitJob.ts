import type { components } from "./openapi.js";

export type Job = components["schemas"]["Job"];
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

export interface Options {
  /** Further headers of each request, for example to sign in. */
  headers?: Record<string, string>;
  /** Is called with the job when it has started and with each change. */
  onChange?: (job: Job) => void;
  /** Ends the waiting. The job goes on. */
  signal?: AbortSignal;
  /** How long the server may let a watch wait, as "30s". Defaults to 30s, at most 60s. */
  wait?: string;
  /** The delay before the first repetition of a call in milliseconds; it doubles up to 30 s. Defaults to 500. */
  backoff?: number;
}

/**
 * Starts a job with a POST to the address of its kind, waits until it is done, and fetches
 * its result; undefined if it has none. One job is started, whatever happens to connections
 * and server meanwhile. A job that fails is a ProblemError with the status 424.
 */
export async function awaitJob<Result>(start: string | URL, spec: unknown, options: Options = {}): Promise<Result | undefined> {
  const body = JSON.stringify(spec);
  const headers = { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() };
  const started = await call(start, { method: "POST", body, headers }, options);
  let job = (await started.json()) as Job;
  while (!job.done) {
    options.onChange?.(job);
    const watch = new URL(linkOf(job, "self"), start);
    watch.search = new URLSearchParams({ maximumPollingPeriod: options.wait ?? "30s", progressPeriod: "1s", since: job.revision }).toString();
    const last = job.revision;
    do {
      job = (await (await call(watch, {}, options)).json()) as Job;
    } while (job.revision === last);
  }
  options.onChange?.(job);
  const result = await call(new URL(`${linkOf(job, "self")}/result`, start), {}, options);
  return result.status === 204 ? undefined : ((await result.json()) as Result);
}

function linkOf(job: Job, name: string): string {
  const link = job.links[name];
  if (link === undefined) {
    throw new Error(`job ${job.id} has no link ${name}`);
  }
  return link.href;
}

/** The statuses of problems that pass. */
const passing = new Set([429, 502, 503, 504]);

const longest = 30_000;

/** Makes a call until it is answered, or must not be repeated. */
async function call(url: string | URL, init: RequestInit, options: Options): Promise<Response> {
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
        const text = await response.text();
        return new Response(response.status === 204 ? null : text, response);
      }
      throw await problemOf(response);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof ProblemError) {
        if (!passing.has(error.status)) {
          throw error;
        }
        after = error.retryAfter * 1000;
      } else if (!(error instanceof TypeError)) {
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
