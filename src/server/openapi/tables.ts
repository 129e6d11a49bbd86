import { z } from "zod"
import { StemmaEvent } from "../../protocol/event.ts"
import { type RouteTable, routes } from "../../protocol/routes/index.ts"
import { RowSchema } from "../../protocol/row-schema.ts"
import { singularPath } from "../http/route-paths.ts"
import { opencodeRoutes } from "../opencode/routes/routes.ts"
import * as wirePlace from "../opencode/wire/wire-directory.ts"
import { WireEvent } from "../opencode/wire/wire-event.ts"
import * as wireMessage from "../opencode/wire/wire-message.ts"
import * as wireSession from "../opencode/wire/wire-session.ts"
import { ChatEvent } from "../panel/chat-event.ts"
import { panelRoutes } from "../panel/routes.ts"
import { SharedEvent } from "../share/feed/shared-event.ts"
import { shareRoutes } from "../share/routes.ts"
import * as shared from "../share/shapes.ts"
import { ErrorShape, StreamError, StreamFrame } from "./named-schemas.ts"
import { documentRoutes } from "./routes.ts"

/** A table of routes as the document shows it. */
export interface DocumentedTable {
  /** Begins the names of its operations, unless it is Stemma's own. */
  prefix: string
  routes: RouteTable
  /** What each group is about. */
  about: Record<string, string>
  /** The shape of its errors, by the name that it has in the document. */
  error: { name: string; schema: z.ZodType }
  /** What of its schemas has a name, beside those that all share. */
  schemas?: Record<string, z.ZodType>
  /** What the data of a frame is, for streams whose route does not say it. */
  frame?: z.ZodType
  aliases?: (path: string) => readonly string[]
}

const ownError = { name: "Error", schema: ErrorShape }

const ownFrames = [StemmaEvent, RowSchema, StreamFrame] as const

/** Everything that the server answers to. */
export const documentedTables: readonly DocumentedTable[] = [
  {
    prefix: "",
    routes,
    about: {
      sessions: "All sessions: made, found, looked through",
      session: "One session",
      place: "What a directory offers: agents, commands, models",
      server: "The server itself",
    },
    error: ownError,
    frame: z.union(ownFrames),
    aliases: singularPath,
  },
  {
    prefix: "",
    routes: { share: shareRoutes },
    about: { share: "What everybody may read who knows the address of a shared session" },
    error: ownError,
    schemas: { ...schemasOf(shared), SharedEvent },
    frame: z.union([SharedEvent, StreamError]),
  },
  {
    prefix: "",
    routes: { panel: panelRoutes },
    about: {
      panel: "A small interface for panels and chat channels: they send a message and the id of a session",
    },
    error: ownError,
    schemas: { ChatEvent },
    frame: ChatEvent,
  },
  {
    prefix: "",
    routes: { document: documentRoutes },
    about: { document: "What can be asked" },
    error: ownError,
  },
  {
    prefix: "opencode",
    routes: opencodeRoutes,
    about: {
      session: "Sessions as the OpenCode client knows them",
      permission: "Questions to a person, for the OpenCode client",
      event: "What happens, for the OpenCode client",
      place: "Agents, config and models, for the OpenCode client",
      file: "Files of a project, for the OpenCode client",
    },
    error: { name: "WireError", schema: wireSession.WireError },
    schemas: { ...schemasOf({ ...wireMessage, ...wirePlace, ...wireSession }), WireEvent },
    frame: z.union([WireEvent, ...ownFrames]),
  },
]

function schemasOf(module: Record<string, unknown>): Record<string, z.ZodType> {
  const schemas = Object.entries(module).filter(
    (entry): entry is [string, z.ZodType] => entry[1] instanceof z.ZodType,
  )
  return Object.fromEntries(schemas)
}
