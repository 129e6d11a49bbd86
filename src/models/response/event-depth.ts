import { jsonDepthMax } from "../../protocol/index.ts"

const lineFeed = 10
const quote = 34
const openList = 91
const backslash = 92
const closeList = 93
const openObject = 123
const closeObject = 125

/**
 * Reads an event stream chunk by chunk and notices JSON that is nested deeper than `jsonDepthMax`. The JSON of an event
 * is one line, and a line feed inside a string is escaped, so each line starts anew.
 */
export class EventDepth {
  #depth = 0
  #isText = false
  #isEscaped = false

  /** True if the JSON is nested too deeply. */
  exceeds(bytes: Uint8Array): boolean {
    let depth = this.#depth
    let isText = this.#isText
    let isEscaped = this.#isEscaped
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === lineFeed) {
        depth = 0
        isText = isEscaped = false
      } else if (isEscaped) isEscaped = false
      else if (isText) {
        if (byte === backslash) isEscaped = true
        else if (byte === quote) isText = false
      } else if (byte === quote) isText = true
      else if (byte === openList || byte === openObject) {
        if (++depth > jsonDepthMax) return true
      } else if (byte === closeList || byte === closeObject) depth--
    }
    this.#depth = depth
    this.#isText = isText
    this.#isEscaped = isEscaped
    return false
  }
}
