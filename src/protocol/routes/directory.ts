import { z } from "zod"
import { route } from "./route.ts"
import { AgentShape, absoluteDirectory, CommandShape, ProjectShape, ProviderShape } from "./shapes.ts"

const query = z.strictObject({ directory: absoluteDirectory.optional() })

/** Routes of one directory: its project, agents, commands, providers and blobs. */
export const directoryRoutes = {
  project: route({
    method: "GET",
    path: "/projects/current",
    summary: "The project of a directory, with notices about config that was ignored or is wrong.",
    query,
    answer: ProjectShape,
    errors: ["not_found"],
  }),
  agents: route({
    method: "GET",
    path: "/agents",
    summary: "The agents that can answer in a directory.",
    query,
    answer: z.array(AgentShape),
    errors: ["not_found"],
  }),
  commands: route({
    method: "GET",
    path: "/commands",
    summary: "The commands that the config of a directory defines.",
    query,
    answer: z.array(CommandShape),
    errors: ["not_found"],
  }),
  providers: route({
    method: "GET",
    path: "/providers",
    summary: "The providers and models that can be used. The answer never contains a key.",
    query,
    answer: z.array(ProviderShape),
    errors: ["not_found"],
  }),
  blob: route({
    method: "GET",
    path: "/blobs/:hash",
    summary: "The bytes of an attachment, or the whole output of a tool. Always sent as a download.",
    params: z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 in hexadecimal") }),
    kind: "bytes",
    errors: ["not_found"],
  }),
}

const health = z.object({ status: z.enum(["ok", "draining"]), version: z.string() })

/** Routes about the server process. */
export const serverRoutes = {
  health: route({
    method: "GET",
    path: "/healthz",
    summary: "Whether the server process is alive.",
    answer: health,
    isPublic: true,
  }),
  ready: route({
    method: "GET",
    path: "/readyz",
    summary: "Whether the server accepts prompts and its store responds. Answers 503 if not.",
    answer: health,
    isPublic: true,
    errors: ["unavailable"],
  }),
  metrics: route({
    method: "GET",
    path: "/metrics",
    summary: "Metrics in the Prometheus text format.",
    kind: "text",
  }),
}
