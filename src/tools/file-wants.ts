import type { JsonObject } from "../protocol/index.ts"
import type { Place } from "../workspace/workspace.ts"
import type { ToolContext, Wanted, WantsContext } from "./tool.ts"

/** What was asked about for an input, so that the call works on that place or asks again. */
const askedFor = new WeakMap<object, string>()

/** Where a path leads. Throws if no model may ever see or touch what is there. */
export async function findPlace(path: string, context: WantsContext): Promise<Place> {
  const place = await context.workspace.resolve(path)
  if (place.forbidden) throw new Error(`${place.name} is never shown to a model. Do without this file.`)
  return place
}

export function readWants(place: Place): Wanted[] {
  return [
    ...externalWants(place),
    { permission: "read", patterns: [place.name], ...always(place.name), metadata: { filepath: place.path } },
  ]
}

export function editWants(place: Place, metadata: JsonObject): Wanted[] {
  return [
    ...externalWants(place),
    {
      permission: "edit",
      patterns: [place.name],
      ...(place.guarded
        ? { floor: "ask" as const }
        : place.external
          ? alwaysBelow(place.directoryPattern)
          : { always: ["*"] }),
      metadata: { filepath: place.path, ...metadata },
    },
  ]
}

/** Searching a directory that is outside: what is asked about is the directory itself, not the one that holds it. */
export function searchWants(place: Place): Wanted[] {
  if (!place.external) return []
  const pattern = place.path.endsWith("/") ? `${place.path}*` : `${place.path}/*`
  return [external(place, pattern)]
}

function externalWants(place: Place): Wanted[] {
  return place.external ? [external(place, place.directoryPattern)] : []
}

function external(place: Place, pattern: string): Wanted {
  return {
    permission: "external_directory",
    patterns: [pattern],
    ...alwaysBelow(pattern),
    metadata: { filepath: place.path },
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
  wants: (place: Place) => Wanted[] | Promise<Wanted[]>
}

/** What a call wants with a path, remembered for when it runs. */
export async function wantsOfPath(
  path: string,
  { input, wants, context }: PlaceWants & { context: WantsContext },
): Promise<Wanted[]> {
  const place = await findPlace(path, context)
  const wanted = await wants(place)
  askedFor.set(input, identity(place, wanted))
  return wanted
}

/**
 * The place again when the call runs. If the path has come to lead elsewhere since, such as by a symlink that was
 * swapped, permission for the new place is asked for before anything is touched.
 */
export async function placeAgain(
  path: string,
  { input, wants, context }: PlaceWants & { context: ToolContext },
): Promise<Place> {
  for (let tries = 0; tries < 3; tries++) {
    const place = await findPlace(path, context)
    const wanted = await wants(place)
    if (askedFor.get(input) === identity(place, wanted)) return place
    for (const one of wanted) await context.ask(one)
    askedFor.set(input, identity(place, wanted))
  }
  throw new Error(`${path} keeps changing where it leads. Wait until nothing changes it, then call again.`)
}

function identity(place: Place, wanted: Wanted[]): string {
  return JSON.stringify([place.path, wanted.map((one) => [one.permission, one.patterns, one.floor])])
}
