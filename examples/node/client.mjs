// A client of a regional limiter, made at run time from the proto itself.
import { fileURLToPath } from "node:url";
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const proto = fileURLToPath(new URL("../../api/leasehold/v1/limiter.proto", import.meta.url));

// Whole numbers of 64 bits are read as text and handed on as BigInt: a Number is
// exact up to 2^53 only. What is absent stays absent, so that no cost is not a cost
// of 0.
const definition = loader.loadSync(proto, { keepCase: true, longs: String, enums: String, oneofs: true, defaults: false });
const { Limiter } = grpc.loadPackageDefinition(definition).leasehold.v1;

/** A connection to one regional limiter. Close it when done. */
export class Client {
  #stub;
  #timeout;

  /**
   * @param {string} address host:port of the region's gRPC
   * @param {number} [timeout] milliseconds after which a question is given up
   */
  constructor(address, timeout = 2000) {
    this.#stub = new Limiter(address, grpc.credentials.createInsecure());
    this.#timeout = timeout;
  }

  /**
   * Asks whether a request may pass. The promise is rejected when there is no
   * decision; what becomes of the request then is the caller's to choose.
   *
   * @param {string} domain
   * @param {Object<string, string|Uint8Array>} descriptor
   * @param {number|bigint} [cost] in tokens; 0 takes nothing; by default 1
   */
  async check(domain, descriptor, cost) {
    return decision(await this.#call("Check", request(domain, descriptor, cost)));
  }

  /**
   * Asks about many requests at once, each by itself. A result is a decision, or
   * {error}.
   *
   * @param {Array<[string, Object, (number|bigint)?]>} requests
   */
  async checkBatch(requests) {
    const answer = await this.#call("CheckBatch", { requests: requests.map((r) => request(...r)) });
    return (answer.results ?? []).map((r) => (r.result === "response" ? decision(r.response) : { error: r.error }));
  }

  close() {
    this.#stub.close();
  }

  #call(method, message) {
    return new Promise((resolve, reject) => {
      this.#stub[method](message, { deadline: Date.now() + this.#timeout }, (err, answer) => (err ? reject(err) : resolve(answer)));
    });
  }
}

function request(domain, descriptor, cost) {
  const r = { domain, descriptor: Object.entries(descriptor).map(([key, value]) => ({ key, value: Buffer.from(value) })) };
  if (cost !== undefined) {
    r.cost = String(cost);
  }
  return r;
}

// decision fills in what was absent because it was zero. A reason that is not
// known, of a newer region, comes with allowed all the same.
function decision(r) {
  return {
    allowed: r.allowed ?? false,
    reason: (r.reason ?? "REASON_UNSPECIFIED").replace(/^REASON_/, "").toLowerCase(),
    quota: r.quota ?? "",
    limit: BigInt(r.limit ?? 0),
    remaining: BigInt(r.remaining ?? 0),
    most: BigInt(r.most ?? 0),
    resetSeconds: seconds(r.reset),
    retryAfterSeconds: seconds(r.retry_after),
  };
}

function seconds(duration) {
  return duration ? Number(duration.seconds ?? 0) + (duration.nanos ?? 0) / 1e9 : 0;
}
