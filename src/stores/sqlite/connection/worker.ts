import { parentPort, workerData } from "node:worker_threads"
import { StemmaError } from "../../../protocol/index.ts"
import { toStemmaError } from "./database.ts"
import { createMaintenance, type WorkerRequests, workerBusyMs } from "./maintenance.ts"
import { connect, type OpenOptions } from "./open.ts"

export interface WorkerRequest {
  id: number
  name: keyof WorkerRequests
  input: unknown
}

export type WorkerReply =
  | { id: number; value: unknown }
  | { id: number; error: { code: string; message: string; details: unknown } }

const options = workerData as OpenOptions
const port = parentPort!
const db = await connect(options)
db.exec(`PRAGMA busy_timeout = ${workerBusyMs}`)
const requests = createMaintenance(db, options)

port.on("message", (request: WorkerRequest | "close") => {
  if (request === "close") {
    db.close()
    port.close()
    return
  }
  try {
    const handler = requests[request.name] as (input: unknown) => unknown
    port.postMessage({ id: request.id, value: handler(request.input) } satisfies WorkerReply)
  } catch (thrown) {
    const { code, message, details } = StemmaError.is(thrown) ? thrown : toStemmaError(thrown, options.path)
    port.postMessage({ id: request.id, error: { code, message, details } } satisfies WorkerReply)
  }
})
