import type { Part } from "../../protocol/index.ts"
import { grownText } from "../../session/replica/grow.ts"
import type { Frame } from "../frame.ts"

/** The estimated size of a frame without its text. */
const bareUnits = 300

/** Estimates how much text a frame holds, in UTF-16 units. Must be cheap: it runs for each frame and subscriber. */
export function frameUnits(frame: Frame): number {
  if ("event" in frame) {
    const { event } = frame
    if (event.type === "message.part.delta") return event.properties.delta.length + bareUnits
    if (event.type === "message.part.updated") return partUnits(event.properties.part)
    return bareUnits
  }
  if (!("row" in frame)) return bareUnits
  const { row } = frame
  if (row.type === "piece") return row.text.length + bareUnits
  return row.type === "part" ? partUnits(row.part) : bareUnits
}

function partUnits(part: Part): number {
  if (part.type !== "tool") return grownText(part).length + bareUnits
  let units = bareUnits
  for (const value of Object.values(part.state)) if (typeof value === "string") units += value.length
  for (const value of Object.values(part.state.input)) if (typeof value === "string") units += value.length
  return units
}
