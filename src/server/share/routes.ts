import { z } from "zod"
import { route } from "../../protocol/routes/index.ts"
import { SharedDocument } from "./shapes.ts"

/** Of any form: a wrong one is answered like one that was ended. */
const params = z.object({ secret: z.string().max(1024) })
const before = z.coerce
  .number()
  .int()
  .min(0)
  .max(1e9)
  .optional()
  .describe("Only messages before this position")

/** What everybody may read who knows the address. */
export const shareRoutes = {
  page: route({
    method: "GET",
    path: "/share/:secret",
    summary:
      "The public page of a shared session: HTML, or with `Accept: application/json` what `/share/:secret/data` gives.",
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
    summary: "A shared session as JSON: its newest messages, or those before a position.",
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
      "Follows a shared session, whole messages only: `reset`, `session`, `message`, `synced`, and as the last `ended` or `changed`.",
    params,
    query: z.object({ since: z.string().max(1024).optional() }),
    kind: "events",
    isPublic: true,
    errors: ["not_found", "unavailable"],
  }),
  asset: route({
    method: "GET",
    path: "/share/assets/:file",
    summary: "The script and the style of the page.",
    params: z.object({ file: z.string().max(100) }),
    kind: "bytes",
    media: ["text/css", "text/javascript"],
    isPublic: true,
    errors: ["not_found"],
  }),
}
