import { call, type CallOptions, type Job, type Settings } from "./call.js";

/**
 * Yields a job as it is, and then with each change, until it is done. The first is the one that
 * is given, or else is read.
 */
export async function* followJob(address: string | URL, options: CallOptions = {}, job?: Job): AsyncGenerator<Job, void> {
  let now = job ?? (await readJob(address, options));
  yield now;
  while (!now.done) {
    const watch = new URL(address);
    watch.search = new URLSearchParams({ maximumPollingPeriod: options.wait ?? "30s", progressPeriod: "1s", since: now.revision }).toString();
    const last = now.revision;
    do {
      now = await readJob(watch, options);
    } while (now.revision === last);
    yield now;
  }
}

async function readJob(address: string | URL, options: CallOptions): Promise<Job> {
  return (await (await call(address, {}, options)).json()) as Job;
}

/** Changes settings of a job, all of them or none. They take effect with the next batch. */
export async function changeJob(address: string | URL, settings: Settings, options: CallOptions = {}): Promise<Job> {
  const init = { method: "PATCH", body: JSON.stringify(settings), headers: { "Content-Type": "application/json" } };
  return (await (await call(address, init, options)).json()) as Job;
}

/**
 * Returns the address of a link of a job; undefined if the job has no such link, or it leads elsewhere: only http and
 * https of the job's own origin are followed, since the headers that sign in go with each call.
 */
export function linkAddress(address: string | URL, job: Job, name: string): URL | undefined {
  const href = job.links[name]?.href;
  if (href === undefined || !URL.canParse(href, address)) {
    return undefined;
  }
  const url = new URL(href, address);
  return /^https?:$/.test(url.protocol) && url.origin === new URL(address).origin ? url : undefined;
}

/**
 * Makes a request that is among the links of a job, such as stop, and returns the job. It is made once: a repetition
 * may be refused. A delete of a job that is gone already returns it as DELETED.
 */
export async function requestJob(address: string | URL, job: Job, name: string, options: CallOptions = {}): Promise<Job> {
  const link = job.links[name];
  const url = linkAddress(address, job, name);
  if (link === undefined || url === undefined) {
    throw new Error(`job ${job.id} has no link ${name} to its own server`);
  }
  const answer = await call(url, { method: link.method }, options, false);
  if (answer.status === 204) {
    return { ...job, status: "DELETED", done: true, fetchable: false, progress: null, links: {} };
  }
  return (await answer.json()) as Job;
}

/**
 * Fetches the result of a job: a File if the link result of the job has file, undefined if there is
 * none, and otherwise what its JSON is.
 */
export async function fetchResult(address: string | URL, options: CallOptions = {}): Promise<unknown> {
  const url = new URL(address);
  url.pathname += "/result";
  const result = await call(url, {}, options);
  const disposition = result.headers.get("Content-Disposition");
  if (disposition !== null) {
    return new File([await result.blob()], fileName(disposition), { type: result.headers.get("Content-Type") ?? "" });
  }
  return result.status === 204 ? undefined : await result.json();
}

/** Returns the file name of a header Content-Disposition as the server writes it. */
export function fileName(disposition: string): string {
  const encoded = /filename\*=utf-8''([^;]*)/i.exec(disposition)?.[1];
  if (encoded !== undefined) {
    return decodeURIComponent(encoded);
  }
  const [, quoted, bare] = /filename=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/i.exec(disposition) ?? [];
  return quoted?.replaceAll(/\\(.)/g, "$1") ?? bare ?? "result";
}
