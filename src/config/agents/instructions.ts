import { glob } from "node:fs/promises"
import { join, resolve } from "node:path"
import type { ConfigFile, ConfigFiles } from "../files/config-files.ts"
import type { Layer } from "../layer.ts"
import { type Environment, homeDirectory } from "../paths.ts"
import { isInside, type ProjectPlace } from "../project.ts"

const filesMax = 50

/**
 * The texts that join the system prompt: AGENTS.md of the user and of the project, the nearest last, then what `instructions`
 * of trusted layers name. Only the user's own config may name a file outside of the project.
 */
export async function readInstructions(options: {
  files: ConfigFiles
  place: ProjectPlace
  configDirectory: string
  layers: readonly Layer[]
  env: Environment
}): Promise<ConfigFile[]> {
  const { files, place, layers } = options
  const found = [await files.readOwn(join(options.configDirectory, "AGENTS.md"))]
  for (const level of place.levels) found.push(await files.readInside(join(level, "AGENTS.md"), place.root))
  for (const layer of layers.filter((one) => one.trusted)) {
    for (const pattern of layer.config.instructions ?? [])
      found.push(...(await named(pattern, { ...options, layer })))
  }
  const byPath = new Map(
    found.flatMap((file) => (file && file.text.trim() !== "" ? [[file.path, file]] : [])),
  )
  return [...byPath.values()]
}

async function named(
  pattern: string,
  options: { files: ConfigFiles; place: ProjectPlace; layer: Layer; env: Environment },
): Promise<ConfigFile[]> {
  const { files, place, layer } = options
  if (/^https?:/.test(pattern)) {
    files.notices.push(
      `${layer.path}: instructions: ${pattern} was ignored. Name a file; addresses are not fetched.`,
    )
    return []
  }
  const own = layer.origin !== "project"
  const base = own ? place.root : layer.directory
  const wanted = pattern.replace(/^~(?=\/)/, () => homeDirectory(options.env))
  if (!own && !isInside(resolve(base, wanted), place.root)) {
    files.notices.push(`${layer.path}: instructions: ${pattern} is outside of the project and was ignored.`)
    return []
  }
  const paths = await matching(wanted, base)
  if (paths.length > filesMax)
    files.notices.push(
      `${layer.path}: instructions: ${pattern} names over ${filesMax} files; the rest were ignored.`,
    )
  const read = (file: string) => (own ? files.readOwn(file) : files.readInside(file, place.root))
  const found = (await Promise.all(paths.slice(0, filesMax).map(read))).filter((file) => file !== undefined)
  if (found.length === 0) files.notices.push(`${layer.path}: instructions: there is no file ${pattern}.`)
  return found
}

/** New files that match a pattern are noticed only when something else changes. */
async function matching(pattern: string, base: string): Promise<string[]> {
  if (!/[*?[{]/.test(pattern)) return [resolve(base, pattern)]
  const found: string[] = []
  const isSkipped = (entry: string): boolean => /(^|[\\/])(node_modules|\.git)$/.test(entry)
  for await (const entry of glob(pattern, { cwd: base, exclude: isSkipped })) {
    found.push(resolve(base, entry))
    if (found.length > filesMax) break
  }
  return found.sort()
}
