// The element against a server, in the DOM of happy-dom, for the test of package taskhttp:
// node dist/elementLoop.js ADDRESS PERSON FILE
import assert from "node:assert/strict";
import { Window } from "happy-dom";
import { changeJob, type Job } from "./awaitJob.js";
import { linkAddress, requestJob } from "./job.js";

const [address, person, file] = process.argv.slice(2);
assert(address && person && file, "name the address of the server, the person and a file to write");
const headers = { Person: person };
const page = new Window({ url: address });
const { document, customElements, CustomEvent, HTMLElement, HTMLButtonElement } = page;
Object.assign(globalThis, { document, customElements, CustomEvent, HTMLElement, HTMLButtonElement });
const { TaskkitJob, progressText, statusText } = await import("./element.js");
const dom = globalThis.document;

async function start(path: string, spec: unknown): Promise<Job> {
  const init = { method: "POST", body: JSON.stringify(spec), headers: { ...headers, "Content-Type": "application/json" } };
  return (await (await fetch(new URL(path, address), init)).json()) as Job;
}

/** Shows a job and returns its element with what its events say. */
function show(job: Job): { element: InstanceType<typeof TaskkitJob>; seen: string[]; next: (name: string, when?: (job: Job) => boolean) => Promise<Job> } {
  const element = new TaskkitJob();
  element.options = { headers };
  element.setAttribute("src", `/jobs/${job.id}`);
  const seen: string[] = [];
  for (const name of ["taskkit-change", "taskkit-end", "taskkit-result"]) {
    element.addEventListener(name, (event) => seen.push(`${name} ${(event as CustomEvent<Job>).detail.status}`));
  }
  const next = (name: string, when: (job: Job) => boolean = () => true) =>
    new Promise<Job>((resolve) => {
      element.addEventListener(name, (event) => when((event as CustomEvent<Job>).detail) && resolve((event as CustomEvent<Job>).detail));
    });
  return { element, seen, next };
}

function find(element: Element, selector: string): HTMLElement {
  const found = element.shadowRoot?.querySelector<HTMLElement>(selector);
  assert(found, `${selector} is missing`);
  return found;
}

function buttons(element: Element): string {
  return [...(element.shadowRoot?.querySelectorAll("button") ?? [])].filter((b) => !b.hidden).map((b) => b.name).join(" ");
}

// Only links of the job's own origin are followed, so that no script runs and no header goes elsewhere.
for (const href of ["javascript:alert(1)", "data:text/html,x", "ftp://elsewhere.invalid/x", "//elsewhere.invalid/x", "https://elsewhere.invalid/x", "http://[", "blob:" + address]) {
  const job = { id: "x", links: { stop: { method: "POST", href }, result: { method: "GET", href, file: true } } } as unknown as Job;
  assert.equal(linkAddress(address, job, "result"), undefined, href);
  await assert.rejects(requestJob(address, job, "stop", { headers }), /no link stop/, href);
}

// A job that holds is paused, resumed and stopped by its buttons.
const held = show(await start("/people/work", { mode: "hold" }));
const running = held.next("taskkit-change", (job) => job.status === "RUNNING");
dom.body.append(held.element);
await running;
assert.equal(find(held.element, "[part=title]").textContent, "Work");
assert.equal(find(held.element, "[part=status]").textContent, "Running");
assert.equal(buttons(held.element), "pause stop");
const bar = find(held.element, "[role=progressbar]");
assert.equal(bar.getAttribute("aria-valuemax"), "100");
const paused = held.next("taskkit-change", (job) => job.paused);
find(held.element, "[name=pause]").click();
await paused;
assert.equal(find(held.element, "[part=status]").textContent, "Paused");
assert.equal(buttons(held.element), "resume stop");
const resumed = held.next("taskkit-change", (job) => !job.paused);
find(held.element, "[name=resume]").click();
const job = await resumed;
assert.equal((await changeJob(new URL(`/jobs/${job.id}`, address), { priority: 1 }, { headers })).id, job.id);
// A button that is pressed before the answer to the one before it has come is not lost.
const stopped = held.next("taskkit-change", (job) => job.status === "STOPPING");
find(held.element, "[name=pause]").click();
find(held.element, "[name=pause]").click();
find(held.element, "[name=stop]").click();
await stopped;
held.element.remove();

// A job that ends has its result, and sends its end once.
const ended = show(await start("/people/work", { mode: "done", items: ["<b>a</b>"] }));
const end = ended.next("taskkit-end");
dom.body.append(ended.element);
assert.equal((await end).status, "SUCCEEDED");
assert.equal(find(ended.element, "[role=progressbar]").getAttribute("aria-valuenow"), "100");
assert.equal(find(ended.element, "[role=progressbar]").getAttribute("aria-valuetext"), "4 of 4");
assert.equal(buttons(ended.element), "result");
const result = ended.next("taskkit-result");
find(ended.element, "[name=result]").click();
assert.deepEqual(await result, { items: 4 });
await new Promise((resolve) => setImmediate(resolve));
assert.equal(find(ended.element, "[part=result]").textContent, JSON.stringify({ items: 4 }, null, 2));
assert.equal(ended.seen.filter((event) => event.startsWith("taskkit-end")).length, 1);

// A result that is a file has a link and no button.
const filed = show(await start("/people/roll", { file, lines: 3 }));
const written = filed.next("taskkit-end");
dom.body.append(filed.element);
const roll = await written;
assert.equal(buttons(filed.element), "");
const link = find(filed.element, "[part=file]") as HTMLAnchorElement;
assert.equal(link.hidden, false);
assert.equal(link.href, new URL(`/jobs/${roll.id}/result`, address).href);

// What is written is text, whatever it has.
const failed = { ...(await end), title: "<img>", status: "FAILED" as const, error: { code: "<b>", title: "" } };
assert.equal(statusText(failed), "Failed: <b>");
assert.equal(statusText({ ...(await end), partial: true }), "Stopped before it was done");
assert.equal(progressText({ ...failed, progress: null }), "not begun");
assert.equal(progressText({ ...failed, progress: { processed: 3, succeeded: 2, failed: 1, skipped: 0 } }), "3, 1 failed");

// A job that does not exist is an alert.
const none = show({ ...failed, id: crypto.randomUUID() });
dom.body.append(none.element);
while (find(none.element, "[role=alert]").textContent === "") {
  await new Promise((resolve) => setTimeout(resolve, 10));
}
assert.equal(find(none.element, "[role=alert]").textContent, "There is no such job");
assert.equal(none.seen.length, 0);
console.log("the element is done");
