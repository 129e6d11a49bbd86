import type { StemmaEvent } from "../../protocol/index.ts"
import { goesOn } from "../../stream/live/live-text.ts"
import type { Numbered } from "./format.ts"

type DeltaEvent = Extract<StemmaEvent, { type: "message.part.delta" }>

/**
 * Live text that goes on where live text before it ends becomes one delta: what a fast model says while others are written to
 * costs a reader one frame. Frames with a cursor stay as they are.
 */
export function joinDeltas<F extends Numbered>(frames: readonly F[]): readonly F[] {
  if (frames.length < 2) return frames
  const joined: F[] = []
  let growing: DeltaEvent["properties"] | undefined
  for (const frame of frames) {
    const event = liveDelta(frame)
    if (event && growing && goesOn(growing, event.properties)) {
      growing.delta += event.properties.delta
      continue
    }
    growing = event && { ...event.properties }
    joined.push(growing ? { ...frame, event: { ...event, properties: growing } } : frame)
  }
  return joined
}

function liveDelta(frame: Numbered & { event?: StemmaEvent }): DeltaEvent | undefined {
  return frame.cursor === undefined && frame.event?.type === "message.part.delta" ? frame.event : undefined
}
