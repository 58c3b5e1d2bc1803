// The loop of the demonstration, for its test: node dist/loop.js ADDRESS
import assert from "node:assert/strict";
import { awaitJob, type Job } from "./awaitJob.js";
import type { components } from "./openapi.js";

const [address] = process.argv.slice(2);
assert(address, "name the address of the server");
const targets = { query: { everyone: true } };

const watch: components["schemas"]["watch_Spec"] = { targets, action: "watch" };
let job: Job | undefined;
await awaitJob(new URL("/people/watch?preview=true", address), watch, { onChange: (now) => (job = now) });
const link = job?.links["preview"];
assert(link && job?.preview, "the job is no preview");
const preview = (await (await fetch(new URL(link.href, address))).json()) as components["schemas"]["Preview"];
assert(preview.complete);

const spec: components["schemas"]["export_caseload_Spec"] = { targets, format: "csv" };
const file = await awaitJob<File>(new URL("/people/export", address), spec);
assert(file);
const lines = (await file.text()).trimEnd().split("\n");
console.log(`${preview.progress.processed} previewed, ${lines.length - 1} exported to ${file.type}`);
