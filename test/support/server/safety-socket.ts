import { connect, type Socket } from "node:net"

/** The answer on a connection, as far as it is HTTP. */
export interface RawAnswer {
  status: number
  headers: Record<string, string>
  body: string
  /** All bytes as text. */
  text: string
}

export interface RawConnection extends AsyncDisposable {
  socket: Socket
  /** All bytes so far. */
  text(): string
  /** The first answer, as soon as its headers are complete; its body when the connection has ended. */
  answered: Promise<RawAnswer>
  /** Resolves with the whole answer when the server has ended the connection. */
  ended: Promise<RawAnswer>
}

/** A connection that sends exactly the given bytes, which no HTTP client does. */
export function openConnection(port: number, said: string | Buffer = ""): RawConnection {
  const socket = connect({ port, host: "127.0.0.1" })
  const chunks: Buffer[] = []
  const text = () => Buffer.concat(chunks).toString("latin1")
  const answered = Promise.withResolvers<RawAnswer>()
  const ended = Promise.withResolvers<RawAnswer>()
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk)
    if (text().includes("\r\n\r\n")) answered.resolve(parseAnswer(text()))
  })
  // A server that has answered and closed resets the connection while the rest is still being sent.
  socket.on("error", () => {})
  socket.on("close", () => {
    answered.resolve(parseAnswer(text()))
    ended.resolve(parseAnswer(text()))
  })
  if (said.length > 0) socket.write(said)
  return {
    socket,
    text,
    answered: answered.promise,
    ended: ended.promise,
    async [Symbol.asyncDispose]() {
      socket.destroy()
      await ended.promise
    },
  }
}

const answerMs = 10_000

/** Sends text, with `Connection: close` so that the answer is complete when the connection ends. */
export async function exchange(port: number, lines: readonly string[], body = ""): Promise<RawAnswer> {
  await using connection = openConnection(port, [...lines, "Connection: close", "", body].join("\r\n"))
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () =>
      late.reject(new Error(`Nothing ended this within ${answerMs} ms: ${lines[0]}\n${connection.text()}`)),
    answerMs,
  )
  try {
    return await Promise.race([connection.ended, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

export function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf("\r\n\r\n")
  const [first = "", ...lines] = text.slice(0, end < 0 ? text.length : end).split("\r\n")
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  )
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(first)?.[1] ?? 0)
  return { status, headers, body: end < 0 ? "" : text.slice(end + 4), text }
}
