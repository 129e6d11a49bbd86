import { randomBytes } from "node:crypto"
import { constants } from "node:fs"
import { type FileHandle, link, open, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { StemmaError } from "../../protocol/index.ts"
import { makeDirectory } from "../../system/make-directory.ts"
import { isAbsent, withStemmaError } from "../files/records.ts"
import type { Environment } from "../paths.ts"

/** The environment variable that overrides the token file. */
export const tokenVariable = "STEMMA_TOKEN"

const tokenBytes = 32
export const tokenCharactersMin = 16
const fileBytesMax = 1024

export interface Token {
  value: string
  /** The token file; undefined if the token came from the environment. */
  path?: string
}

/**
 * The bearer token of the server: from the environment, else from the data directory, where it is created on first use.
 */
export async function openToken(options: { env: Environment; dataDirectory: string }): Promise<Token> {
  return (await findToken(options)) ?? makeToken(tokenPath(options.dataDirectory))
}

/** Like `openToken`, but creates nothing: undefined if there is no token. */
export async function findToken(options: {
  env: Environment
  dataDirectory: string
}): Promise<Token | undefined> {
  const given = options.env[tokenVariable]
  if (given) return { value: checkToken(given, tokenVariable) }
  const path = tokenPath(options.dataDirectory)
  const value = await readToken(path)
  return value === undefined ? undefined : { value, path }
}

export function tokenPath(dataDirectory: string): string {
  return join(dataDirectory, "token")
}

/** The first process creates the file; processes that start at the same time find it complete. */
async function makeToken(path: string): Promise<Token> {
  const directory = dirname(path)
  const temporary = join(directory, `.token.${process.pid}.${randomBytes(6).toString("hex")}.tmp`)
  await withStemmaError(directory, async () => {
    makeDirectory(directory)
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
  if (value === undefined)
    throw new StemmaError(
      "unavailable",
      `The token file ${path} was removed while it was created. Start again.`,
    )
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
    if (code === "ELOOP") throw refusedFile(path, "is a symlink. Replace it by a regular file of your own")
    throw refusedFile(path, `cannot be read (${code}). Delete it and start again; a new one is then created`)
  }
  await using opened = file
  const { mode, uid, size } = await opened.stat()
  const isFile = (mode & constants.S_IFMT) === constants.S_IFREG
  if (!isFile)
    throw refusedFile(path, "is not a regular file. Move it away and start again; a new one is then created")
  if (process.getuid && uid !== process.getuid())
    throw refusedFile(path, "belongs to another user. Delete it")
  // Windows has no such file modes.
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw refusedFile(
      path,
      `can be read by others. Run chmod 600 on it, or delete it, so that a new one is created`,
    )
  }
  if (size > fileBytesMax) throw refusedFile(path, "is too long for a token. Delete it and start again")
  return checkToken((await opened.readFile("utf8")).trim(), path)
}

/** True if the text is long enough not to be guessed and fits into an HTTP header. */
export function isToken(text: string): boolean {
  return text.length >= tokenCharactersMin && /^[\x21-\x7e]+$/.test(text)
}

function checkToken(token: string, where: string): string {
  if (isToken(token)) return token
  throw new StemmaError(
    "invalid",
    `${where} contains no valid token. A token has at least ${tokenCharactersMin} printable ASCII characters and no spaces.`,
  )
}

function refusedFile(path: string, why: string): StemmaError {
  return new StemmaError("denied", `The token file ${path} ${why}.`)
}
