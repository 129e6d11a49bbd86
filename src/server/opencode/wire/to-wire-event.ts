import { ascendingIDs, type StemmaEvent, systemClock } from "../../../protocol/index.ts"
import type { Frame } from "../../../stream/hub.ts"
import { toWireError } from "./to-wire-error.ts"
import { toWireMessage } from "./to-wire-message.ts"
import { type PartOptions, toWirePart } from "./to-wire-part.ts"
import { toWireDiff, toWirePermission, toWireRemoved, toWireSession, toWireTodo } from "./to-wire-session.ts"

import type { WireEvent } from "./wire-event.ts"

type WithoutID<T> = T extends unknown ? Omit<T, "id"> : never

/** An event before it gets its id. */
export type EventBody = WithoutID<WireEvent>

export interface EventOptions extends PartOptions {
  projectID: string
  nowMs: number
}

/** The event in the shape of the OpenCode client. Undefined if that client has no such event. */
export function toWireEvent(event: StemmaEvent, options: EventOptions): EventBody | undefined {
  switch (event.type) {
    case "session.created":
    case "session.updated": {
      const { info } = event.properties
      return { type: event.type, properties: { sessionID: info.id, info: toWireSession(info) } }
    }
    case "session.deleted": {
      const { info } = event.properties
      return { type: event.type, properties: { sessionID: info.id, info: toWireRemoved(info, options) } }
    }
    case "session.diff": {
      const { sessionID, diff } = event.properties
      return { type: event.type, properties: { sessionID, diff: diff.map(toWireDiff) } }
    }
    case "session.error": {
      const { sessionID, error } = event.properties
      return { type: event.type, properties: { sessionID, error: toWireError(error) } }
    }
    case "message.updated": {
      const { info } = event.properties
      return { type: event.type, properties: { sessionID: info.sessionID, info: toWireMessage(info) } }
    }
    case "message.part.updated": {
      const { part } = event.properties
      const properties = {
        sessionID: part.sessionID,
        part: toWirePart(part, options),
        time: options.nowMs,
      }
      return { type: event.type, properties }
    }
    case "message.part.delta": {
      const { sessionID, messageID, partID, field, delta } = event.properties
      // The OpenCode client appends to a field of the part itself, and only texts have such a field.
      if (field !== "text") return undefined
      return { type: event.type, properties: { sessionID, messageID, partID, field, delta } }
    }
    case "permission.asked":
      return { type: event.type, properties: toWirePermission(event.properties.request) }
    case "permission.replied": {
      const { sessionID, permissionID, reply } = event.properties
      return { type: event.type, properties: { sessionID, requestID: permissionID, reply } }
    }
    case "todo.updated": {
      const { sessionID, todos } = event.properties
      return { type: event.type, properties: { sessionID, todos: todos.map(toWireTodo) } }
    }
    case "session.status":
    case "session.idle":
    case "session.compacted":
    case "message.removed":
    case "message.part.removed":
      return event
  }
}

/** The JSON text of a frame. `synced` and `lagged` become events too, of types that the OpenCode client ignores. */
export function toWireText(frame: Frame, options: Omit<EventOptions, "nowMs">): string | undefined {
  const wire =
    "event" in frame ? toWireEvent(frame.event, { ...options, nowMs: Date.now() }) : ownEvent(frame)
  return wire && eventText(wire)
}

export function eventText(event: EventBody): string {
  return JSON.stringify({ id: eventID(), ...event })
}

/** The text of an event in the stream of all directories. Without a location, the event is about the stream itself. */
export function globalText(text: string, location?: { directory: string; projectID?: string }): string {
  const { directory = "global", projectID } = location ?? {}
  const project = projectID === undefined ? "" : `"project":${JSON.stringify(projectID)},`
  return `{"directory":${JSON.stringify(directory)},${project}"payload":${text}}`
}

function ownEvent(frame: Exclude<Frame, { event: unknown }>): EventBody | undefined {
  if ("row" in frame) return undefined
  const type = "synced" in frame ? "synced" : "lagged"
  return { type, properties: { cursor: frame.cursor } }
}

/** The first event of every stream. */
export function connectedText(): string {
  return eventText({ type: "server.connected", properties: {} })
}

const newID = ascendingIDs(systemClock)

function eventID(): string {
  return newID("message").replace(/^msg/, "evt")
}
