// The loop of the quickstart, for its test: node dist/loop.js ADDRESS
import assert from "node:assert/strict";
import { awaitJob } from "./awaitJob.js";
import type { components } from "./openapi.js";

const [address] = process.argv.slice(2);
assert(address, "name the address of the server");
const spec: components["schemas"]["set_status_Spec"] = { students: [4, 5, 6], status: "paused" };
const result = await awaitJob<components["schemas"]["set_status_Result"]>(new URL("/students/status", address), spec);
console.log(`${result?.changed} changed`);
