import { z } from "zod"
import { route } from "../../protocol/routes/index.ts"
import { SharedDocument } from "../../protocol/routes/share-shapes.ts"

/** Any text: a wrong secret gets the same answer as a share that was ended. */
const params = z.object({ secret: z.string().max(1024) })
const before = z.coerce
  .number()
  .int()
  .min(0)
  .max(1e9)
  .optional()
  .describe("Only messages before this position")

/** The routes for readers of a shared session. */
export const shareRoutes = {
  page: route({
    method: "GET",
    path: "/share/:secret",
    summary:
      "Returns the public page of a shared session as HTML, or with `Accept: application/json` the answer of `/share/:secret/data`.",
    params,
    query: z.object({ before }),
    kind: "bytes",
    media: ["text/html", "application/json"],
    isPublic: true,
    errors: ["not_found", "unavailable"],
  }),
  data: route({
    method: "GET",
    path: "/share/:secret/data",
    summary:
      "Returns a shared session as JSON, with its newest messages or with the messages before a position.",
    params,
    query: z.object({ before }),
    answer: SharedDocument,
    isPublic: true,
    errors: ["not_found", "unavailable"],
  }),
  event: route({
    method: "GET",
    path: "/share/:secret/event",
    summary:
      "Streams a shared session, whole messages only. Events: `reset`, `session`, `message`, `synced`, and at the end `ended` or `changed`.",
    params,
    query: z.object({ since: z.string().max(1024).optional() }),
    kind: "events",
    isPublic: true,
    errors: ["not_found", "unavailable"],
  }),
  asset: route({
    method: "GET",
    path: "/share/assets/:file",
    summary: "Returns the script or the style sheet of the page.",
    params: z.object({ file: z.string().max(100) }),
    kind: "bytes",
    media: ["text/css", "text/javascript"],
    isPublic: true,
    errors: ["not_found"],
  }),
}
