// The loop of the protocol against a server, for the test of package taskhttp:
// node dist/loop.js ADDRESS PERSON FILE
import assert from "node:assert/strict";
import { awaitJob, fileName, ProblemError, requestJob, type Job } from "./awaitJob.js";
import type { components } from "./openapi.js";

const [address, person, file] = process.argv.slice(2);
assert(address && person && file, "name the address of the server, the person and a file to write");
const start = new URL("/people/work", address);
const headers = { Person: person };
const seen: Job[] = [];

const spec: components["schemas"]["work_Spec"] = { mode: "done", items: ["a"] };
const result = await awaitJob<components["schemas"]["work_Result"]>(start, spec, { headers, onChange: (job) => seen.push(job) });
assert.deepEqual(result, { items: 4 });
assert.equal(seen.at(-1)?.status, "SUCCEEDED");

const last = seen.at(-1)!;
for (let i = 0; i < 2; i++) { // the second finds no job
  assert.equal((await requestJob(start, last, "delete", { headers })).status, "DELETED");
}

const empty = await awaitJob(new URL("/people/pieces", address), { pieces: ["a"] }, { headers });
assert.equal(typeof empty === "object" || empty === undefined, true);

const roll = await awaitJob(new URL("/people/roll", address), { file, lines: 2 }, { headers });
assert(roll instanceof File);
assert.equal(await roll.text(), "0000000\n0000001\n");
assert.equal(roll.name, file.split("/").at(-1));
assert.equal(fileName('attachment; filename="a \\"b\\".csv"'), 'a "b".csv');
assert.equal(fileName("attachment; filename*=utf-8''M%C3%BCller.csv"), "Müller.csv");
assert.equal(fileName("attachment; filename=a.csv"), "a.csv");
assert.equal(fileName("attachment"), "result");

const preview: components["schemas"]["Job"][] = [];
await awaitJob(new URL("/people/seats?preview=true", address), { seats: [] }, { headers, onChange: (job) => preview.push(job) });
assert.equal(preview.at(-1)?.preview, true);

await assert.rejects(awaitJob(start, { mode: "fail" }, { headers }), (error: unknown) => {
  assert(error instanceof ProblemError);
  assert.equal(error.status, 424);
  assert.equal(error.problem.code, "target_gone");
  return true;
});
await assert.rejects(awaitJob(start, { mode: "none" }, { headers }), (error: unknown) => {
  assert(error instanceof ProblemError);
  assert.equal(error.status, 422);
  assert.equal(error.problem.errors?.[0]?.pointer, "/mode");
  return true;
});
await assert.rejects(awaitJob(start, { mode: "hold" }, { headers, signal: AbortSignal.timeout(200) }), { name: "TimeoutError" });
console.log("the loop is done");
