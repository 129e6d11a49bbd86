import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"
import type { JsonObject } from "../../protocol/index.ts"
import { isInside } from "../../workspace/path/is-inside.ts"
import type { ResolvedPath } from "../../workspace/workspace.ts"
import type { ToolContext, Wanted, WantsContext } from "../tool.ts"
import { withPathLock } from "./path-lock.ts"
import { meantPath, shownName } from "./shown-name.ts"

/**
 * The resolved path and permissions that were requested for an input. A call works on exactly that path, or requests
 * permission again.
 */
const askedFor = new WeakMap<object, string>()

/** Errors of calls, by input. They are reported only after the model is permitted to know what is at the path. */
const deferredErrors = new WeakMap<object, unknown>()

/** Resolves a path. Throws if it leads to a file that no model may see or change. */
async function resolvePath(path: string, context: WantsContext): Promise<ResolvedPath> {
  return notForbidden(await context.workspace.resolve(meantPath(path)))
}

function notForbidden(location: ResolvedPath): ResolvedPath {
  if (location.forbidden)
    throw new Error(`${shownName(location.name)} is never shown to a model. Do without this file.`)
  return location
}

export function readWants(location: ResolvedPath): Wanted[] {
  return [...externalWants(location), readWant(location)]
}

export function readWant({ name, path }: ResolvedPath): Wanted {
  return { permission: "read", patterns: [name], ...always(name), metadata: { filepath: path } }
}

export function editWants(location: ResolvedPath, metadata: JsonObject): Wanted[] {
  return [
    ...externalWants(location),
    {
      permission: "edit",
      patterns: [location.name],
      ...(location.guarded
        ? { floor: "ask" as const }
        : location.external
          ? alwaysBelow(location.directoryPattern)
          : { always: ["*"] }),
      metadata: { filepath: location.path, ...metadata },
    },
  ]
}

/** Searching an external directory: the pattern is about the directory itself, not its parent. */
export function searchWants(location: ResolvedPath): Wanted[] {
  if (!location.external) return []
  const pattern = location.path.endsWith("/") ? `${location.path}*` : `${location.path}/*`
  return [external(location, pattern)]
}

export function externalWants(location: ResolvedPath): Wanted[] {
  return location.external ? [external(location, location.directoryPattern)] : []
}

function external(location: ResolvedPath, pattern: string): Wanted {
  return {
    permission: "external_directory",
    patterns: [pattern],
    ...alwaysBelow(pattern),
    metadata: { filepath: location.path },
  }
}

/** A name with wildcards in it would, as a pattern, allow more than the person was shown. */
function always(name: string): { always?: string[] } {
  return /[*?]/.test(name) ? {} : { always: [name] }
}

function alwaysBelow(pattern: string): { always?: string[] } {
  return /[*?]/.test(pattern.replace(/\*$/, "")) ? {} : { always: [pattern] }
}

interface PathWants {
  input: object
  wants: (location: ResolvedPath) => Wanted[] | Promise<Wanted[]>
}

/** The permission requests of a call for a path, remembered for when the call runs. */
export async function wantsOfPath(
  path: string,
  { input, wants, context }: PathWants & { context: WantsContext },
): Promise<Wanted[]> {
  const location = await pathToAsk(path, { input, context })
  const wanted = await wants(location)
  askedFor.set(input, identity(location, wanted))
  return wanted
}

/**
 * The permission requests of a call that changes a file. `describeChange` looks at the file, throws if the change
 * cannot be made, and returns what the person is shown. Nothing about an external file is revealed before its directory
 * is permitted: then the call requests only that, and reports its error when it runs.
 */
export async function wantsOfChange(
  path: string,
  options: {
    input: object
    context: WantsContext
    describeChange: (location: ResolvedPath) => Promise<JsonObject>
  },
): Promise<Wanted[]> {
  const { input, context, describeChange } = options
  const location = await pathToAsk(path, options)
  let metadata: JsonObject = {}
  try {
    if (!deferredErrors.has(input))
      metadata = await withPathLock(location.path, () => describeChange(location))
  } catch (error) {
    if (mayReveal(location, context)) throw error
    deferredErrors.set(input, error)
  }
  if (deferredErrors.has(input)) return externalWants(location)
  return wantsOfPath(path, { input, context, wants: (now) => editWants(now, metadata) })
}

/** Resolves a path, or guesses where it leads if resolving it would reveal to the model what is outside. */
async function pathToAsk(
  path: string,
  { input, context }: { input: object; context: WantsContext },
): Promise<ResolvedPath> {
  deferredErrors.delete(input)
  const meant = meantPath(path)
  const found = await context.workspace.resolve(meant).catch((error: unknown) => {
    const location = guessedPath(meant, context)
    if (mayReveal(location, context)) throw error
    deferredErrors.set(input, error)
    return location
  })
  return notForbidden(found)
}

/** The session already knows of files that it has read. */
function mayReveal(location: ResolvedPath, { decide, reads }: WantsContext): boolean {
  const isAllowed = externalWants(location).every((wanted) => decide(wanted) === "allow")
  return isAllowed || reads.known(location.path) !== undefined
}

/** The path as it would be without symlinks. */
function guessedPath(path: string, { workspace }: WantsContext): ResolvedPath {
  const whole = /^~(?=$|\/)/.test(path) ? `${homedir()}${path.slice(1)}` : resolve(workspace.directory, path)
  return {
    path: whole,
    name: whole,
    external: !isInside(whole, workspace.root),
    directoryPattern: join(dirname(whole), "*"),
    guarded: false,
    forbidden: false,
    exists: false,
  }
}

/**
 * Resolves the path again when the call runs. If the path now leads elsewhere, for example through a swapped symlink,
 * permission for the new path is requested before anything is touched.
 */
export async function resolveAgain(
  path: string,
  { input, wants, context }: PathWants & { context: ToolContext },
): Promise<ResolvedPath> {
  if (deferredErrors.has(input)) throw deferredErrors.get(input)
  for (let tries = 0; tries < 3; tries++) {
    const location = await resolvePath(path, context)
    const wanted = await wants(location)
    if (askedFor.get(input) === identity(location, wanted)) return location
    for (const one of wanted) await context.ask(one)
    askedFor.set(input, identity(location, wanted))
  }
  throw new Error(
    `${shownName(path)} keeps changing where it leads. Wait until nothing changes it, then call again.`,
  )
}

function identity(location: ResolvedPath, wanted: Wanted[]): string {
  return JSON.stringify([location.path, wanted.map((one) => [one.permission, one.patterns, one.floor])])
}
