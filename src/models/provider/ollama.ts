import { parseJson } from "../../protocol/index.ts"
import { boundedResponse } from "../response/bounded-response.ts"

const usualPort = 11434
const lookMs = 100
const listBytesMax = 1024 * 1024

/** The address of Ollama: `OLLAMA_HOST` if it names this machine, else the standard port of this machine. */
export function ollamaAddress(env: Record<string, string | undefined>): string {
  const usual = `http://127.0.0.1:${usualPort}`
  const host = env.OLLAMA_HOST?.trim()
  if (!host) return usual
  const url = URL.parse(/^https?:\/\//i.test(host) ? host : `http://${host}`)
  if (url?.username !== "" || url.password !== "") return usual
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
  // A server that listens on all interfaces also listens on loopback.
  const isEverywhere = url.hostname === "0.0.0.0" || url.hostname === "[::]"
  if (!isLoopback && !isEverywhere) return usual
  const port =
    url.port || (/^https?:\/\//i.test(host) ? (url.protocol === "https:" ? "443" : "80") : usualPort)
  return `${url.protocol}//${isEverywhere ? "127.0.0.1" : url.hostname}:${port}`
}

/** The names of the models of a running Ollama; an empty list if it does not answer in time (100 ms by default). */
export async function ollamaModels(
  address: string,
  { fetch, timeoutMs = lookMs }: { fetch: typeof globalThis.fetch; timeoutMs?: number },
): Promise<string[]> {
  try {
    // Creating the request first loads the code of `fetch` before the timeout starts.
    const request = new Request(`${address}/api/tags`, { redirect: "manual" })
    const response = await fetch(request, { signal: AbortSignal.timeout(timeoutMs) })
    if (!response.ok) return []
    const bounded = boundedResponse(response, { name: "ollama", bytesMax: listBytesMax })
    const body = parseJson(await bounded.text()) as { models?: { name?: unknown }[] }
    return (body.models ?? []).flatMap(({ name }) => (typeof name === "string" && name !== "" ? [name] : []))
  } catch {
    return []
  }
}
