import { ProblemError, type CallOptions, type Job } from "./call.js";
import { fetchResult, followJob, linkAddress, requestJob } from "./job.js";

/** The requests that have a button, in this order, and what is written on it. */
const requests: Record<string, string> = {
  result: "Show result", pause: "Pause", resume: "Resume", retry: "Retry", stop: "Stop",
};

const statuses: Record<Job["status"], string> = {
  QUEUING: "Waiting", RUNNING: "Running", STOPPING: "Stopping", SUCCEEDED: "Done", FAILED: "Failed", DELETED: "Deleted",
};

/** What is written about the status of a job. */
export function statusText(job: Job): string {
  if (job.status === "SUCCEEDED" && job.partial) {
    return "Stopped before it was done";
  }
  if (job.error !== undefined) {
    return `${statuses.FAILED}: ${job.error.code}`;
  }
  return job.paused && !job.done ? "Paused" : statuses[job.status];
}

/** What is written about the progress of a job. */
export function progressText(job: Job): string {
  const p = job.progress;
  if (p === null) {
    return "not begun";
  }
  const processed = p.total === undefined ? `${p.processed}` : `${p.processed} of ${p.total}`;
  return p.failed > 0 ? `${processed}, ${p.failed} failed` : processed;
}

/**
 * <taskkit-job src="/jobs/ID"> shows a job and follows it until it is done: title, status,
 * progress, and a button for each request that its links allow. It sends the events
 * taskkit-change with each change, taskkit-end when the job is done, and taskkit-result with the
 * result, which is shown unless the event is cancelled; a result that is a file has a link to
 * download it instead, for which cookies must sign in. Its parts can be styled: title, status,
 * progress, bar, actions, button, file, result, problem.
 */
export class TaskkitJob extends HTMLElement {
  static readonly observedAttributes = ["src"];

  /** Options of the calls, for example headers to sign in. Set them before the element is connected. */
  options: CallOptions = {};

  /** What is followed; undefined: nothing. */
  #following: { address: URL; stop: AbortController } | undefined;
  #job: Job | undefined;
  readonly #queued = new Set<string>(); // the names of requests that are made or wait
  #last: Promise<void> = Promise.resolve(); // ends with the last of them
  readonly #title = part("div", "title");
  readonly #status = part("div", "status");
  readonly #progress = part("div", "progress");
  readonly #bar = part("div", "bar");
  readonly #file = part("a", "file") as HTMLAnchorElement;
  readonly #result = part("pre", "result");
  readonly #problem = part("div", "problem");
  readonly #buttons = new Map<string, HTMLButtonElement>();

  constructor() {
    super();
    this.#title.id = "title";
    this.#status.setAttribute("role", "status");
    this.#problem.setAttribute("role", "alert");
    this.#progress.setAttribute("role", "progressbar");
    this.#progress.setAttribute("aria-labelledby", "title");
    this.#progress.setAttribute("aria-valuemin", "0");
    this.#progress.setAttribute("aria-valuemax", "100");
    Object.assign(this.#progress.style, { background: "#ddd", height: "0.75em" });
    Object.assign(this.#bar.style, { background: "#06c", height: "100%", width: "0%" });
    this.#progress.append(this.#bar);
    const actions = part("div", "actions");
    actions.setAttribute("role", "group");
    actions.setAttribute("aria-labelledby", "title");
    for (const [name, label] of Object.entries(requests)) {
      const button = part("button", "button") as HTMLButtonElement;
      button.type = "button";
      button.hidden = true;
      button.name = name;
      button.textContent = label;
      button.addEventListener("click", () => this.#queue(name));
      this.#buttons.set(name, button);
      actions.append(button);
    }
    this.#file.hidden = true;
    this.#file.download = "";
    this.#file.textContent = "Download result";
    actions.append(this.#file);
    this.#result.hidden = true;
    this.attachShadow({ mode: "open" }).append(this.#title, this.#status, this.#progress, actions, this.#result, this.#problem);
  }

  /** The job as it was last read. */
  get job(): Job | undefined {
    return this.#job;
  }

  connectedCallback(): void {
    this.#follow();
  }

  disconnectedCallback(): void {
    this.#following?.stop.abort();
    this.#following = undefined;
  }

  attributeChangedCallback(): void {
    if (this.isConnected) {
      this.#follow();
    }
  }

  /** Follows the job of the attribute src, from a job that was read or from now. */
  #follow(job?: Job): void {
    const src = this.getAttribute("src");
    const address = src === null ? undefined : new URL(src, this.baseURI);
    if (job === undefined && address !== undefined && this.#following?.address.href === address.href) {
      return;
    }
    this.disconnectedCallback();
    if (job === undefined) {
      this.#job = undefined;
      this.#result.hidden = true;
      this.#file.hidden = true;
      this.#file.removeAttribute("href");
      for (const button of this.#buttons.values()) {
        button.hidden = true;
      }
    }
    if (address !== undefined) {
      const stop = new AbortController();
      this.#following = { address, stop };
      void this.#show(address, stop.signal, job);
    }
  }

  async #show(address: URL, signal: AbortSignal, first?: Job): Promise<void> {
    try {
      for await (const job of followJob(address, { ...this.options, signal }, first)) {
        if (signal.aborted) {
          return;
        }
        this.#render(job);
        if (job.done) {
          this.#send("taskkit-end", job);
        }
      }
    } catch (error) {
      if (!signal.aborted) {
        this.#fail(error);
      }
    }
  }

  #render(job: Job): void {
    if (this.#job?.id === job.id && this.#job.revision === job.revision) {
      return; // it is shown
    }
    this.#job = job;
    this.#problem.textContent = "";
    write(this.#title, job.title);
    write(this.#status, statusText(job));
    const percent = job.progress?.percent ?? (job.status === "SUCCEEDED" && !job.partial ? 100 : undefined);
    if (percent === undefined) {
      this.#progress.removeAttribute("aria-valuenow");
    } else {
      this.#progress.setAttribute("aria-valuenow", `${percent}`);
    }
    this.#progress.setAttribute("aria-valuetext", progressText(job));
    this.#progress.title = progressText(job);
    this.#bar.style.width = `${percent ?? 0}%`;
    const focused = this.shadowRoot?.activeElement;
    const link = (name: string) => this.#following && linkAddress(this.#following.address, job, name);
    const file = job.links["result"]?.file === true ? link("result") : undefined;
    for (const [name, button] of this.#buttons) {
      button.hidden = link(name) === undefined || (name === "result" && file !== undefined);
    }
    this.#file.hidden = file === undefined;
    if (file !== undefined) {
      this.#file.href = file.href;
    }
    if (focused instanceof HTMLButtonElement && focused.hidden) {
      [...this.#buttons.values()].find((button) => !button.hidden)?.focus();
    }
    this.#send("taskkit-change", job);
  }

  /**
   * Makes the request of a button after those before it: the change that one of them makes may be shown, and its
   * next button pressed, before its answer has come.
   */
  #queue(name: string): void {
    const address = this.#following?.address.href;
    if (address === undefined || this.#queued.has(name)) {
      return; // the latter is a double click
    }
    this.#queued.add(name);
    this.#last = this.#last.then(async () => {
      await this.#request(name, address);
      this.#queued.delete(name);
    });
  }

  /** Makes the request of a button, if the element still shows the job of the address, and the job still has the request. */
  async #request(name: string, address: string): Promise<void> {
    const job = this.#job;
    const following = this.#following;
    if (following?.address.href !== address || job?.links[name] === undefined) {
      return;
    }
    try {
      if (name === "result") {
        const result = await fetchResult(following.address, this.options);
        if (this.#send("taskkit-result", result)) {
          this.#result.textContent = result === undefined ? "no result" : JSON.stringify(result, null, 2);
          this.#result.hidden = false;
        }
        return;
      }
      const changed = await requestJob(following.address, job, name, this.options);
      if (this.#following === following) {
        this.#follow(changed);
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#problem.textContent = error instanceof ProblemError ? (error.problem.detail ?? error.problem.title) : "The server cannot be reached";
  }

  /** Sends an event and reports whether nobody has cancelled it. */
  #send(name: string, detail: unknown): boolean {
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable: true }));
  }
}

function part(tag: string, name: string): HTMLElement {
  const element = document.createElement(tag);
  element.setAttribute("part", name);
  return element;
}

/** Writes a text only if it is another, so that it is not announced again. */
function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

if (customElements.get("taskkit-job") === undefined) {
  customElements.define("taskkit-job", TaskkitJob);
}
