export type { ServerOptions } from "./options.ts"
export { createServer, type ListenOptions, type StemmaServer } from "./server.ts"
