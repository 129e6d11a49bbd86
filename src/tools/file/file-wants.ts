import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"
import type { JsonObject } from "../../protocol/index.ts"
import { isInside } from "../../workspace/path/inside.ts"
import type { Place } from "../../workspace/workspace.ts"
import type { ToolContext, Wanted, WantsContext } from "../tool.ts"
import { withPathLock } from "./path-lock.ts"
import { meantPath, shownName } from "./shown-name.ts"

/** What was asked about for an input, so that the call works on that place or asks again. */
const askedFor = new WeakMap<object, string>()

/** Why a call cannot work, by its input: not said before the model may know what is there. */
const saidLater = new WeakMap<object, unknown>()

/** Where a path leads. Throws if no model may ever see or touch what is there. */
async function findPlace(path: string, context: WantsContext): Promise<Place> {
  return notForbidden(await context.workspace.resolve(meantPath(path)))
}

function notForbidden(location: Place): Place {
  if (location.forbidden)
    throw new Error(`${shownName(location.name)} is never shown to a model. Do without this file.`)
  return location
}

export function readWants(location: Place): Wanted[] {
  return [...externalWants(location), readWant(location)]
}

export function readWant({ name, path }: Place): Wanted {
  return { permission: "read", patterns: [name], ...always(name), metadata: { filepath: path } }
}

export function editWants(location: Place, metadata: JsonObject): Wanted[] {
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

/** Searching a directory that is outside: what is asked about is the directory itself, not the one that holds it. */
export function searchWants(location: Place): Wanted[] {
  if (!location.external) return []
  const pattern = location.path.endsWith("/") ? `${location.path}*` : `${location.path}/*`
  return [external(location, pattern)]
}

export function externalWants(location: Place): Wanted[] {
  return location.external ? [external(location, location.directoryPattern)] : []
}

function external(location: Place, pattern: string): Wanted {
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

interface PlaceWants {
  input: object
  wants: (location: Place) => Wanted[] | Promise<Wanted[]>
}

/** What a call wants with a path, remembered for when it runs. */
export async function wantsOfPath(
  path: string,
  { input, wants, context }: PlaceWants & { context: WantsContext },
): Promise<Wanted[]> {
  const location = await placeToAsk(path, { input, context })
  const wanted = await wants(location)
  askedFor.set(input, identity(location, wanted))
  return wanted
}

/**
 * What a call wants that changes a file. `judge` looks at the file, throws if the change cannot be made, and gives what the
 * person is shown. Of a file outside nothing is told before somebody has permitted to look there: then the call wants only
 * that, and says why it fails when it runs.
 */
export async function wantsOfChange(
  path: string,
  options: { input: object; context: WantsContext; judge: (location: Place) => Promise<JsonObject> },
): Promise<Wanted[]> {
  const { input, context, judge } = options
  const location = await placeToAsk(path, options)
  let metadata: JsonObject = {}
  try {
    if (!saidLater.has(input)) metadata = await withPathLock(location.path, () => judge(location))
  } catch (error) {
    if (mayTell(location, context)) throw error
    saidLater.set(input, error)
  }
  if (saidLater.has(input)) return externalWants(location)
  return wantsOfPath(path, { input, context, wants: (now) => editWants(now, metadata) })
}

/** Where a path leads, or seems to lead if finding out would tell the model what is outside. */
async function placeToAsk(
  path: string,
  { input, context }: { input: object; context: WantsContext },
): Promise<Place> {
  saidLater.delete(input)
  const meant = meantPath(path)
  const found = await context.workspace.resolve(meant).catch((error: unknown) => {
    const location = unresolved(meant, context)
    if (mayTell(location, context)) throw error
    saidLater.set(input, error)
    return location
  })
  return notForbidden(found)
}

/** What this session has read it knows of. */
function mayTell(location: Place, { decide, reads }: WantsContext): boolean {
  const isAllowed = externalWants(location).every((wanted) => decide(wanted) === "allow")
  return isAllowed || reads.known(location.path) !== undefined
}

/** What a place would be if no symlink were on the way. */
function unresolved(path: string, { workspace }: WantsContext): Place {
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
 * The place again when the call runs. If the path has come to lead elsewhere since, such as by a symlink that was
 * swapped, permission for the new place is asked for before anything is touched.
 */
export async function placeAgain(
  path: string,
  { input, wants, context }: PlaceWants & { context: ToolContext },
): Promise<Place> {
  if (saidLater.has(input)) throw saidLater.get(input)
  for (let tries = 0; tries < 3; tries++) {
    const location = await findPlace(path, context)
    const wanted = await wants(location)
    if (askedFor.get(input) === identity(location, wanted)) return location
    for (const one of wanted) await context.ask(one)
    askedFor.set(input, identity(location, wanted))
  }
  throw new Error(
    `${shownName(path)} keeps changing where it leads. Wait until nothing changes it, then call again.`,
  )
}

function identity(location: Place, wanted: Wanted[]): string {
  return JSON.stringify([location.path, wanted.map((one) => [one.permission, one.patterns, one.floor])])
}
