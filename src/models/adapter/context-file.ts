import type { ContextFile } from "../../session/index.ts"
import type { Api } from "../provider/providers.ts"

/** The form in which a file is sent to a model: its text, its bytes, or a URL that the provider fetches itself. */
export type SentFile =
  | { type: "text"; text: string }
  | { type: "bytes"; mime: string; base64: string; filename?: string }
  | { type: "address"; mime: string; url: URL; filename?: string }

const textMime =
  /^text\/|^application\/(json|xml|yaml|toml|javascript|typescript|sql|graphql|x-(sh|yaml|toml|ndjson|httpd-php|javascript))$|\+(json|xml|yaml)$/

const imageMime = /^image\/(png|jpeg|gif|webp)$/

/** True if the API accepts bytes of this type. A provider refuses the whole request for one file of an unknown type. */
function takesBytes(api: Api, mime: string): boolean {
  if (imageMime.test(mime) || mime === "application/pdf") return true
  if (api === "google") return /^(audio|video)\/|^image\/hei[cf]$/.test(mime)
  if (api === "openai-chat" || api === "openai-compatible") return /^audio\/(wav|mp3|mpeg)$/.test(mime)
  return false
}

function takesAddress(api: Api, mime: string): boolean {
  if (imageMime.test(mime)) return api !== "google"
  return mime === "application/pdf" && (api === "anthropic" || api === "openai-responses")
}

/** True if the bytes of this file must be read first, because its URL is neither `data:` nor `http(s):`. */
export function isElsewhere(file: ContextFile): boolean {
  return !/^(data|https?):/i.test(file.url)
}

/** `bytes` are the bytes of a file that `isElsewhere`; undefined if it could not be read. */
export function sentFile(file: ContextFile, api: Api, bytes?: Uint8Array): SentFile {
  const mime = normalMime(file.mime)
  if (/^https?:/i.test(file.url)) return sentAddress({ ...file, mime }, api)
  const data = isElsewhere(file)
    ? bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    : dataOf(file.url)
  if (data === undefined) return notice(file, "could not be read")
  if (textMime.test(mime)) return { type: "text", text: fileText(file, data) }
  if (!takesBytes(api, mime)) return notice(file, "is of a type that this model does not take")
  return { type: "bytes", mime, base64: data.toString("base64"), ...nameOf(file) }
}

function sentAddress(file: ContextFile, api: Api): SentFile {
  const url = URL.parse(file.url)
  if (url === null || !takesAddress(api, file.mime)) {
    return notice(file, `at ${file.url.slice(0, 500)} cannot be shown to this model by its address`)
  }
  return { type: "address", mime: file.mime, url, ...nameOf(file) }
}

function dataOf(url: string): Buffer | undefined {
  const comma = url.indexOf(",")
  if (comma < 0) return undefined
  const isBase64 = /;base64$/i.test(url.slice(0, comma))
  try {
    return isBase64
      ? Buffer.from(url.slice(comma + 1), "base64")
      : Buffer.from(decodeURIComponent(url.slice(comma + 1)))
  } catch {
    return undefined
  }
}

function fileText(file: ContextFile, data: Buffer): string {
  const text = data.toString("utf8")
  return `<file name="${file.filename ?? file.mime}">\n${text}${text.endsWith("\n") ? "" : "\n"}</file>`
}

/**
 * Replaces a file that cannot be sent by a notice to the model, so that one file does not make the session unusable.
 */
function notice(file: ContextFile, why: string): SentFile {
  return { type: "text", text: `[The file ${file.filename ?? "without a name"} (${file.mime}) ${why}.]` }
}

function nameOf(file: ContextFile): { filename?: string } {
  return file.filename === undefined ? {} : { filename: file.filename }
}

function normalMime(mime: string): string {
  const plain = (mime.split(";")[0] ?? "").trim().toLowerCase()
  return plain === "image/jpg" ? "image/jpeg" : plain
}
