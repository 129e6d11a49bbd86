import { startModelServer } from "./server.ts"

// A process of its own, for benchmarks: prints where it listens and ends when its standard input does.
const server = await startModelServer({ requestsKept: 0 })
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
process.stdin.once("end", () => void server.close())
process.stdin.resume()
