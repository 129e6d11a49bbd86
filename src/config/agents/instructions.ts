import { glob } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { ConfigFile, ConfigFiles } from "../files/config-files.ts"
import type { Layer } from "../layer.ts"
import { type Environment, homeDirectory } from "../paths.ts"
import { isInside, type ProjectLocation } from "../project.ts"

const filesMax = 50

/**
 * The texts that are added to the system prompt: AGENTS.md of the user and of the project, the nearest last, then the
 * files that `instructions` of trusted layers name. Only the user's own config may name a file outside the project.
 */
export async function readInstructions(options: {
  files: ConfigFiles
  location: ProjectLocation
  configDirectory: string
  layers: readonly Layer[]
  env: Environment
}): Promise<ConfigFile[]> {
  const { files, location, layers } = options
  const found = [await files.readOwn(join(options.configDirectory, "AGENTS.md"))]
  for (const level of location.levels)
    found.push(await files.readInside(join(level, "AGENTS.md"), location.root))
  for (const layer of layers.filter((one) => one.trusted)) {
    for (const pattern of layer.config.instructions ?? [])
      found.push(...(await namedFiles(pattern, { ...options, layer })))
  }
  const byPath = new Map(
    found.flatMap((file) => (file && file.text.trim() !== "" ? [[file.path, file]] : [])),
  )
  return [...byPath.values()]
}

async function namedFiles(
  pattern: string,
  options: { files: ConfigFiles; location: ProjectLocation; layer: Layer; env: Environment },
): Promise<ConfigFile[]> {
  const { files, location, layer } = options
  if (/^https?:/.test(pattern)) {
    files.notices.push(
      `${layer.path}: instructions: ${pattern} was ignored. Name a file; URLs are not fetched.`,
    )
    return []
  }
  const own = layer.origin !== "project"
  const base = own ? location.root : layer.directory
  const wanted = pattern.replace(/^~(?=\/)/, () => homeDirectory(options.env))
  if (!own && !isInside(resolve(base, wanted), location.root)) {
    files.notices.push(`${layer.path}: instructions: ${pattern} is outside the project and was ignored.`)
    return []
  }
  const paths = await matchingFiles(wanted, base)
  if (paths.length > filesMax)
    files.notices.push(
      `${layer.path}: instructions: ${pattern} matches more than ${filesMax} files; the rest were ignored.`,
    )
  const read = (file: string) => (own ? files.readOwn(file) : files.readInside(file, location.root))
  const found = (await Promise.all(paths.slice(0, filesMax).map(read))).filter((file) => file !== undefined)
  if (found.length === 0) files.notices.push(`${layer.path}: instructions: there is no file ${pattern}.`)
  return found
}

/** A new file that matches a pattern is picked up only when another config file changes. */
async function matchingFiles(pattern: string, base: string): Promise<string[]> {
  if (!/[*?[{]/.test(pattern)) return [resolve(base, pattern)]
  const found: string[] = []
  const isSkipped = (entry: string): boolean => /(^|[\\/])(node_modules|\.git)$/.test(entry)
  for await (const entry of glob(pattern, { cwd: base, exclude: isSkipped })) {
    found.push(resolve(base, entry))
    if (found.length > filesMax) break
  }
  return found.sort()
}
