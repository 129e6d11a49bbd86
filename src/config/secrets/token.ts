import { randomBytes } from "node:crypto"
import { constants } from "node:fs"
import { type FileHandle, link, mkdir, open, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { StemmaError } from "../../protocol/index.ts"
import { isAbsent, reported } from "../files/records.ts"
import type { Environment } from "../paths.ts"

/** The variable that holds the token instead of the file. */
export const tokenVariable = "STEMMA_TOKEN"

const tokenBytes = 32
export const tokenCharactersMin = 16
const fileBytesMax = 1024

export interface Token {
  value: string
  /** The file that it is in; undefined if it came from the environment. */
  path?: string
}

/** What callers of the server must know: from the environment, else from the data directory, where it is made on first use. */
export async function openToken(options: { env: Environment; dataDirectory: string }): Promise<Token> {
  return (await findToken(options)) ?? makeToken(tokenPath(options.dataDirectory))
}

/** The same, but makes nothing: undefined if there is none. */
export async function findToken(options: {
  env: Environment
  dataDirectory: string
}): Promise<Token | undefined> {
  const given = options.env[tokenVariable]
  if (given) return { value: checked(given, tokenVariable) }
  const path = tokenPath(options.dataDirectory)
  const value = await readToken(path)
  return value === undefined ? undefined : { value, path }
}

export function tokenPath(dataDirectory: string): string {
  return join(dataDirectory, "token")
}

/** Whoever is first makes it; others that start at the same time find it whole. */
async function makeToken(path: string): Promise<Token> {
  const directory = dirname(path)
  const temporary = join(directory, `.token.${process.pid}.${randomBytes(6).toString("hex")}.tmp`)
  await reported(directory, async () => {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    try {
      await writeSynced(temporary, `${randomBytes(tokenBytes).toString("base64url")}\n`)
      await link(temporary, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    } finally {
      await rm(temporary, { force: true })
    }
  })
  const value = await readToken(path)
  if (value === undefined) throw new StemmaError("unavailable", `${path} is gone again. Start once more.`)
  return { value, path }
}

async function writeSynced(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o600)
  await file.writeFile(text)
  await file.sync()
}

async function readToken(path: string): Promise<string | undefined> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    if (isAbsent(error)) return undefined
    const { code } = error as NodeJS.ErrnoException
    if (code === "ELOOP") throw refused(path, "is a link. Replace it by a file of your own")
    throw refused(path, `cannot be read (${code}). Delete it and start again, and a new one is made`)
  }
  await using opened = file
  const { mode, uid, size } = await opened.stat()
  const isFile = (mode & constants.S_IFMT) === constants.S_IFREG
  if (!isFile) throw refused(path, "is no file. Move it away and start again, and one is made")
  if (process.getuid && uid !== process.getuid()) throw refused(path, "belongs to somebody else. Delete it")
  // Windows has no such modes.
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw refused(path, `can be read by others. Delete it, so that a new one is made, or run chmod 600 on it`)
  }
  if (size > fileBytesMax) throw refused(path, "is too long for a token. Delete it and start again")
  return checked((await opened.readFile("utf8")).trim(), path)
}

/** Long enough not to be guessed, and such that it fits into a header. */
export function isToken(text: string): boolean {
  return text.length >= tokenCharactersMin && /^[\x21-\x7e]+$/.test(text)
}

function checked(token: string, where: string): string {
  if (isToken(token)) return token
  throw new StemmaError(
    "invalid",
    `${where} holds no token: it needs at least ${tokenCharactersMin} plain characters, none of them blank.`,
  )
}

function refused(path: string, why: string): StemmaError {
  return new StemmaError("denied", `The token file ${path} ${why}.`)
}
