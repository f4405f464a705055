// Asks a regional limiter, and prints a line of JSON for each question:
//
//     node check.mjs ADDRESS DOMAIN [--cost N] [--times N] [--batch] KEY=VALUE...
//
// Exit codes: 0 if the last answer was an admission, 3 if it was a denial, 1 if
// there was none, 2 for a usage error.
import { parseArgs } from "node:util";
import { Client } from "./client.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { cost: { type: "string" }, times: { type: "string", default: "1" }, batch: { type: "boolean" } },
});
const [address, domain, ...entries] = positionals;
if (!domain || entries.some((e) => !e.includes("="))) {
  console.error("usage: node check.mjs ADDRESS DOMAIN [--cost N] [--times N] [--batch] KEY=VALUE...");
  process.exit(2);
}
const descriptor = Object.fromEntries(entries.map((e) => [e.slice(0, e.indexOf("=")), e.slice(e.indexOf("=") + 1)]));
const cost = values.cost === undefined ? undefined : BigInt(values.cost);
const print = (answer) => console.log(JSON.stringify(answer, (_, v) => (typeof v === "bigint" ? String(v) : v)));

const client = new Client(address);
let last;
try {
  if (values.batch) {
    for (last of await client.checkBatch(Array(Number(values.times)).fill([domain, descriptor, cost]))) {
      print(last);
    }
  } else {
    for (let i = 0; i < Number(values.times); i++) {
      print((last = await client.check(domain, descriptor, cost)));
    }
  }
  process.exitCode = last?.allowed ? 0 : 3;
} catch (err) {
  console.error(err.message);
  process.exitCode = 1;
} finally {
  client.close();
}
