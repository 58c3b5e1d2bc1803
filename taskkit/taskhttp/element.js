// Made by npm run bundle in clients/typescript. DO NOT EDIT.

// src/call.ts
var ProblemError = class extends Error {
  constructor(status, problem, retryAfter) {
    super(`${status} ${problem.title}${problem.detail ? `: ${problem.detail}` : ""}`);
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
  status;
  problem;
  retryAfter;
  name = "ProblemError";
};
var passing = /* @__PURE__ */ new Set([429, 502, 503, 504]);
var longest = 3e4;
async function call(url, init, options, again = true) {
  for (let pause = options.backoff ?? 500; ; pause = Math.min(2 * pause, longest)) {
    let after = 0;
    try {
      const response = await fetch(url, {
        ...init,
        headers: { ...options.headers, ...init.headers },
        signal: options.signal ?? null
      });
      if (response.ok) {
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
        after = error.retryAfter * 1e3;
      } else if (!again || !(error instanceof TypeError)) {
        throw error;
      }
    }
    await delay(Math.max(pause * (1 - Math.random() / 4), after), options.signal);
  }
}
async function problemOf(response) {
  let problem = { type: "about:blank", title: response.statusText, status: response.status };
  if (response.headers.get("Content-Type")?.startsWith("application/problem+json")) {
    problem = await response.json();
  }
  return new ProblemError(response.status, problem, Number(response.headers.get("Retry-After")) || 0);
}
function delay(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    function done() {
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

// src/job.ts
async function* followJob(address, options = {}, job) {
  let now = job ?? await readJob(address, options);
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
async function readJob(address, options) {
  return await (await call(address, {}, options)).json();
}
function linkAddress(address, job, name) {
  const href = job.links[name]?.href;
  if (href === void 0 || !URL.canParse(href, address)) {
    return void 0;
  }
  const url = new URL(href, address);
  return /^https?:$/.test(url.protocol) && url.origin === new URL(address).origin ? url : void 0;
}
async function requestJob(address, job, name, options = {}) {
  const link = job.links[name];
  const url = linkAddress(address, job, name);
  if (link === void 0 || url === void 0) {
    throw new Error(`job ${job.id} has no link ${name} to its own server`);
  }
  const answer = await call(url, { method: link.method }, options, false);
  if (answer.status === 204) {
    return { ...job, status: "DELETED", done: true, fetchable: false, progress: null, links: {} };
  }
  return await answer.json();
}
async function fetchResult(address, options = {}) {
  const url = new URL(address);
  url.pathname += "/result";
  const result = await call(url, {}, options);
  const disposition = result.headers.get("Content-Disposition");
  if (disposition !== null) {
    return new File([await result.blob()], fileName(disposition), { type: result.headers.get("Content-Type") ?? "" });
  }
  return result.status === 204 ? void 0 : await result.json();
}
function fileName(disposition) {
  const encoded = /filename\*=utf-8''([^;]*)/i.exec(disposition)?.[1];
  if (encoded !== void 0) {
    return decodeURIComponent(encoded);
  }
  const [, quoted, bare] = /filename=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/i.exec(disposition) ?? [];
  return quoted?.replaceAll(/\\(.)/g, "$1") ?? bare ?? "result";
}

// src/element.ts
var requests = {
  result: "Show result",
  pause: "Pause",
  resume: "Resume",
  retry: "Retry",
  stop: "Stop"
};
var statuses = {
  QUEUING: "Waiting",
  RUNNING: "Running",
  STOPPING: "Stopping",
  SUCCEEDED: "Done",
  FAILED: "Failed",
  DELETED: "Deleted"
};
function statusText(job) {
  if (job.status === "SUCCEEDED" && job.partial) {
    return "Stopped before it was done";
  }
  if (job.error !== void 0) {
    return `${statuses.FAILED}: ${job.error.code}`;
  }
  return job.paused && !job.done ? "Paused" : statuses[job.status];
}
function progressText(job) {
  const p = job.progress;
  if (p === null) {
    return "not begun";
  }
  const processed = p.total === void 0 ? `${p.processed}` : `${p.processed} of ${p.total}`;
  return p.failed > 0 ? `${processed}, ${p.failed} failed` : processed;
}
var TaskkitJob = class extends HTMLElement {
  static observedAttributes = ["src"];
  /** Options of the calls, for example headers to sign in. Set them before the element is connected. */
  options = {};
  /** What is followed; undefined: nothing. */
  #following;
  #job;
  #queued = /* @__PURE__ */ new Set();
  // the names of requests that are made or wait
  #last = Promise.resolve();
  // ends with the last of them
  #title = part("div", "title");
  #status = part("div", "status");
  #progress = part("div", "progress");
  #bar = part("div", "bar");
  #file = part("a", "file");
  #result = part("pre", "result");
  #problem = part("div", "problem");
  #buttons = /* @__PURE__ */ new Map();
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
      const button = part("button", "button");
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
  get job() {
    return this.#job;
  }
  connectedCallback() {
    this.#follow();
  }
  disconnectedCallback() {
    this.#following?.stop.abort();
    this.#following = void 0;
  }
  attributeChangedCallback() {
    if (this.isConnected) {
      this.#follow();
    }
  }
  /** Follows the job of the attribute src, from a job that was read or from now. */
  #follow(job) {
    const src = this.getAttribute("src");
    const address = src === null ? void 0 : new URL(src, this.baseURI);
    if (job === void 0 && address !== void 0 && this.#following?.address.href === address.href) {
      return;
    }
    this.disconnectedCallback();
    if (job === void 0) {
      this.#job = void 0;
      this.#result.hidden = true;
      this.#file.hidden = true;
      this.#file.removeAttribute("href");
      for (const button of this.#buttons.values()) {
        button.hidden = true;
      }
    }
    if (address !== void 0) {
      const stop = new AbortController();
      this.#following = { address, stop };
      void this.#show(address, stop.signal, job);
    }
  }
  async #show(address, signal, first) {
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
  #render(job) {
    if (this.#job?.id === job.id && this.#job.revision === job.revision) {
      return;
    }
    this.#job = job;
    this.#problem.textContent = "";
    write(this.#title, job.title);
    write(this.#status, statusText(job));
    const percent = job.progress?.percent ?? (job.status === "SUCCEEDED" && !job.partial ? 100 : void 0);
    if (percent === void 0) {
      this.#progress.removeAttribute("aria-valuenow");
    } else {
      this.#progress.setAttribute("aria-valuenow", `${percent}`);
    }
    this.#progress.setAttribute("aria-valuetext", progressText(job));
    this.#progress.title = progressText(job);
    this.#bar.style.width = `${percent ?? 0}%`;
    const focused = this.shadowRoot?.activeElement;
    const link = (name) => this.#following && linkAddress(this.#following.address, job, name);
    const file = job.links["result"]?.file === true ? link("result") : void 0;
    for (const [name, button] of this.#buttons) {
      button.hidden = link(name) === void 0 || name === "result" && file !== void 0;
    }
    this.#file.hidden = file === void 0;
    if (file !== void 0) {
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
  #queue(name) {
    const address = this.#following?.address.href;
    if (address === void 0 || this.#queued.has(name)) {
      return;
    }
    this.#queued.add(name);
    this.#last = this.#last.then(async () => {
      await this.#request(name, address);
      this.#queued.delete(name);
    });
  }
  /** Makes the request of a button, if the element still shows the job of the address, and the job still has the request. */
  async #request(name, address) {
    const job = this.#job;
    const following = this.#following;
    if (following?.address.href !== address || job?.links[name] === void 0) {
      return;
    }
    try {
      if (name === "result") {
        const result = await fetchResult(following.address, this.options);
        if (this.#send("taskkit-result", result)) {
          this.#result.textContent = result === void 0 ? "no result" : JSON.stringify(result, null, 2);
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
  #fail(error) {
    this.#problem.textContent = error instanceof ProblemError ? error.problem.detail ?? error.problem.title : "The server cannot be reached";
  }
  /** Sends an event and reports whether nobody has cancelled it. */
  #send(name, detail) {
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable: true }));
  }
};
function part(tag, name) {
  const element = document.createElement(tag);
  element.setAttribute("part", name);
  return element;
}
function write(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}
if (customElements.get("taskkit-job") === void 0) {
  customElements.define("taskkit-job", TaskkitJob);
}
export {
  TaskkitJob,
  progressText,
  statusText
};
