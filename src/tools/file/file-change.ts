import { randomUUID } from "node:crypto"
import { constants, type Stats } from "node:fs"
import { access, type FileHandle, link, mkdir, open, realpath, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { JsonObject } from "../../protocol/index.ts"
import { countLines, unifiedDiff } from "../../workspace/line-diff.ts"
import type { ResolvedPath } from "../../workspace/workspace.ts"
import { cutText } from "../output.ts"
import type { FileState, WantsContext } from "../tool.ts"
import { explained, isErrno, type OpenedFile, openFile, stateOf, statOf } from "./open-file.ts"
import { shownName } from "./shown-name.ts"

/** Larger texts are not compared, because such a diff is too long to read. */
const comparedCharactersMax = 1024 * 1024
const diffCharactersMax = 64 * 1024

/**
 * Opens the file to change; undefined if there is none. Throws unless this session has read the file in its current
 * state, so that a change by another process is not lost.
 */
export async function openKnown(
  location: ResolvedPath,
  context: WantsContext,
): Promise<OpenedFile | undefined> {
  const opened = await openFile(location)
  if (opened === undefined) return undefined
  try {
    const known = context.reads.known(location.path)
    if (known === undefined)
      throw new Error(
        `${shownName(location.name)} exists and was not read yet. Read it first, then call again.`,
      )
    if (!isSame(known, stateOf(opened.stats))) {
      throw new Error(
        `${shownName(location.name)} has changed since it was read. Read it again, then call again.`,
      )
    }
    await access(location.path, constants.W_OK).catch(() => {
      throw new Error(
        `${shownName(location.name)} is read-only. Ask the user to make it writable if it must be changed.`,
      )
    })
    return opened
  } catch (error) {
    await opened.handle.close()
    throw error
  }
}

export interface Change {
  /** Undefined for a new file, or for a file that is not text. */
  before: string | undefined
  after: string
  exists: boolean
}

/** What a person is shown of a change. */
export function changeMetadata(location: ResolvedPath, { before, after, exists }: Change): JsonObject {
  const comparable =
    (!exists || before !== undefined) && after.length + (before?.length ?? 0) <= comparedCharactersMax
  if (!comparable) return { filepath: location.path, exists, diff: "" }
  const diff = unifiedDiff(before ?? "", after, { file: shownName(location.name) })
  const shown = diff.length > diffCharactersMax ? `${cutText(diff, diffCharactersMax)}\n(cut)` : diff
  return { filepath: location.path, exists, ...countLines(before ?? "", after), diff: shown }
}

/**
 * Writes a file atomically: readers see the old text or the new one. `before` is the file's state when permission was
 * requested. If the file has changed since, or a file has appeared where there was none, nothing is written. Returns
 * the new state.
 */
export async function replaceFile(
  location: ResolvedPath,
  { text, before }: { text: string; before: Stats | undefined },
): Promise<FileState> {
  try {
    return await replace(location, { text, before })
  } catch (error) {
    throw explained(error, `${shownName(location.name)} could not be written`)
  }
}

async function replace(
  location: ResolvedPath,
  { text, before }: { text: string; before: Stats | undefined },
): Promise<FileState> {
  const directory = dirname(location.path)
  if (before === undefined) await mkdir(directory, { recursive: true })
  const temporary = join(directory, `.stemma-${randomUUID()}.tmp`)
  const handle = await open(temporary, "wx", before === undefined ? 0o666 : 0o600)
  try {
    await using _ = handle
    await handle.writeFile(text)
    if (before !== undefined) await keepOwnerAndMode(handle, before)
    await handle.datasync()
    const state = stateOf(await handle.stat())
    if ((await realpath(directory)) !== directory) {
      throw new Error(`The directory of ${shownName(location.name)} was replaced meanwhile. Call again.`)
    }
    await moveIntoPlace(temporary, { location, before })
    return state
  } finally {
    await rm(temporary, { force: true })
  }
}

async function keepOwnerAndMode(handle: FileHandle, before: Stats): Promise<void> {
  const now = await handle.stat()
  if (now.uid !== before.uid || now.gid !== before.gid) {
    // Only root may change the owner. For other users the new file belongs to them, as with any editor.
    const given = await handle.chown(before.uid, before.gid).then(
      () => true,
      () => false,
    )
    // If the owner changed, setuid and setgid bits are dropped, so that the file does not run as another user.
    if (!given) return handle.chmod(before.mode & 0o777)
  }
  await handle.chmod(before.mode & 0o7777)
}

async function moveIntoPlace(
  temporary: string,
  { location, before }: { location: ResolvedPath; before: Stats | undefined },
): Promise<void> {
  const changed = `${shownName(location.name)} was changed by somebody else meanwhile. Read it again, then call again.`
  if (before !== undefined) {
    const now = await statOf(location.path)
    if (now === undefined || now.ino !== before.ino || !isSame(stateOf(now), stateOf(before)))
      throw new Error(changed)
    return rename(temporary, location.path)
  }
  try {
    // Unlike a rename, a hard link never replaces a file that has appeared meanwhile.
    await link(temporary, location.path)
  } catch (error) {
    if (isErrno(error, "EEXIST")) throw new Error(changed, { cause: error })
    if (!isErrno(error, "EPERM", "ENOTSUP", "ENOSYS", "EMLINK")) throw error
    await rename(temporary, location.path)
  }
}

function isSame(a: FileState, b: FileState): boolean {
  return a.mtimeMs === b.mtimeMs && a.size === b.size
}
