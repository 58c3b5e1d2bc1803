import { call, type CallOptions, type Job } from "./call.js";
import { fetchResult, followJob } from "./job.js";

export { ProblemError, type CallOptions, type Job, type Problem, type Settings } from "./call.js";
export { changeJob, fetchResult, fileName, followJob, requestJob } from "./job.js";

export interface Options extends CallOptions {
  /** Is called with the job when it has started and with each change. */
  onChange?: (job: Job) => void;
}

/**
 * Starts a job with a POST to the address of its kind, waits until it is done, and fetches
 * its result; undefined if it has none, and a File if it is one. One job is started, whatever happens to connections
 * and server meanwhile. A job that fails is a ProblemError with the status 424.
 */
export async function awaitJob<Result>(start: string | URL, spec: unknown, options: Options = {}): Promise<Result | undefined> {
  const body = JSON.stringify(spec);
  const headers = { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() };
  const started = (await (await call(start, { method: "POST", body, headers }, options)).json()) as Job;
  const self = started.links["self"];
  if (self === undefined) {
    throw new Error(`job ${started.id} has no link self`);
  }
  const address = new URL(self.href, start);
  for await (const job of followJob(address, options, started)) {
    options.onChange?.(job);
  }
  return (await fetchResult(address, options)) as Result | undefined;
}
