import { startModelServer } from "./server.ts"

// A separate process for benchmarks: prints its address and ends when its stdin ends.
const server = await startModelServer({ requestsKept: 0 })
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
process.stdin.once("end", () => void server.close())
process.stdin.resume()
