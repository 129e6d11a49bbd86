import { connect, createServer, type Socket } from "node:net"

export interface CuttingProxy extends AsyncDisposable {
  url: string
  cuts: number
  /** Stops cutting. */
  stop(): void
}

/**
 * Passes connections on to a port of this machine, and cuts each of them after a random number of bytes of its answers.
 */
export async function cuttingProxy(options: {
  port: number
  random: () => number
  bytesMax: number
}): Promise<CuttingProxy> {
  const { port, random, bytesMax } = options
  const sockets = new Set<Socket>()
  let isStopped = false

  function join(near: Socket): void {
    const far = connect(port, "127.0.0.1")
    let left = Math.floor(random() * bytesMax)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.setNoDelay(true)
      one.on("error", () => other.destroy())
      one.on("close", () => {
        sockets.delete(one)
        other.destroy()
      })
    }
    near.on("data", (bytes) => far.write(bytes))
    far.on("data", (bytes) => {
      if (isStopped || bytes.length <= left) {
        left -= bytes.length
        near.write(bytes)
        return
      }
      proxy.cuts++
      const end = () => (random() < 0.5 ? near.resetAndDestroy() : near.destroy())
      if (left > 0) near.write(bytes.subarray(0, left), end)
      else end()
      far.destroy()
    })
  }

  const server = createServer(join)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address() as { port: number }
  const proxy: CuttingProxy = {
    url: `http://127.0.0.1:${address.port}`,
    cuts: 0,
    stop() {
      isStopped = true
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
  return proxy
}
