import type { Fetch } from "../../../src/client/index.ts"

export interface Cutter {
  fetch: Fetch
  /** How many requests and answers were cut. */
  cuts: number
  /** Stops cutting. */
  stop(): void
}

/** A fetch with a bad connection: requests fail now and then, and answers end early or break off. */
export function cuttingFetch(fetch: Fetch, options: { random: () => number; bytesMax: number }): Cutter {
  const { random, bytesMax } = options
  let isStopped = false
  const cutter: Cutter = {
    cuts: 0,
    async fetch(request) {
      if (!isStopped && random() < 0.1) {
        cutter.cuts++
        throw new TypeError("fetch failed")
      }
      const response = await fetch(request)
      if (isStopped || !response.body) return response
      const body = cut(response.body, { bytes: Math.floor(random() * bytesMax), isClean: random() < 0.3 })
      return new Response(body, response)
    },
    stop() {
      isStopped = true
    },
  }

  function cut(body: ReadableStream<Uint8Array>, { bytes, isClean }: { bytes: number; isClean: boolean }) {
    const reader = body.getReader()
    let left = bytes
    return new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        if (isStopped || value.length <= left) {
          left -= value.length
          return controller.enqueue(value)
        }
        cutter.cuts++
        if (left > 0) controller.enqueue(value.subarray(0, left))
        reader.cancel().catch(() => {})
        if (isClean) controller.close()
        else controller.error(new TypeError("terminated"))
      },
      cancel: (reason) => reader.cancel(reason),
    })
  }
  return cutter
}

/** A fetch whose connection delivers a few bytes at a time. */
export function crumblingFetch(fetch: Fetch, options: { bytes: number }): Fetch {
  return async (request) => {
    const response = await fetch(request)
    if (!response.body) return response
    const crumble = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        for (let at = 0; at < chunk.length; at += options.bytes) {
          controller.enqueue(chunk.subarray(at, at + options.bytes))
        }
      },
    })
    return new Response(response.body.pipeThrough(crumble), response)
  }
}
