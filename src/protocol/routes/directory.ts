import { z } from "zod"
import { route } from "./route.ts"
import { AgentShape, absoluteDirectory, CommandShape, ProjectShape, ProviderShape } from "./shapes.ts"

const query = z.strictObject({ directory: absoluteDirectory.optional() })

/** What a directory offers: agents, commands, models. */
export const directoryRoutes = {
  project: route({
    method: "GET",
    path: "/project",
    summary: "The project of a directory, and what of its config was ignored or is wrong.",
    query,
    answer: ProjectShape,
    errors: ["not_found"],
  }),
  agents: route({
    method: "GET",
    path: "/agents",
    summary: "Who can answer.",
    query,
    answer: z.array(AgentShape),
    errors: ["not_found"],
  }),
  commands: route({
    method: "GET",
    path: "/commands",
    summary: "The commands of the config.",
    query,
    answer: z.array(CommandShape),
    errors: ["not_found"],
  }),
  providers: route({
    method: "GET",
    path: "/providers",
    summary: "Which models can be asked. Never a key.",
    query,
    answer: z.array(ProviderShape),
    errors: ["not_found"],
  }),
  blob: route({
    method: "GET",
    path: "/blobs/:hash",
    summary: "The bytes of an attachment, or the whole output of a tool. Always a download.",
    params: z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 in hexadecimal") }),
    kind: "bytes",
    errors: ["not_found"],
  }),
}

const health = z.object({ status: z.enum(["ok", "draining"]), version: z.string() })

/** The server itself. */
export const serverRoutes = {
  health: route({
    method: "GET",
    path: "/healthz",
    summary: "Whether the process lives.",
    answer: health,
    isPublic: true,
  }),
  ready: route({
    method: "GET",
    path: "/readyz",
    summary: "Whether it takes prompts and its store answers; 503 if not.",
    answer: health,
    isPublic: true,
    errors: ["unavailable"],
  }),
  metrics: route({
    method: "GET",
    path: "/metrics",
    summary: "Figures for Prometheus.",
    kind: "text",
  }),
}
