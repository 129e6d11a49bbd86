import { basename, dirname } from "node:path"
import type { ConfigFile } from "../files/config-files.ts"
import { parseError, parseFrontMatter } from "../files/document.ts"

/** Text about how to do something. The model loads it when it needs it. */
export interface Skill {
  name: string
  /** When to use the skill. */
  description: string
  /** The absolute path of SKILL.md. */
  path: string
  /** The directory of SKILL.md and of the files that it refers to. */
  directory: string
  /** The text that the model gets: the file without its front matter. */
  body: string
}

const skillName = /^[\p{L}\p{N}][\p{L}\p{N} _.:-]{0,63}$/u
const descriptionCharactersMax = 1024

/**
 * Throws `invalid` if the front matter has no description: the description is all that a model sees before it loads the
 * skill.
 */
export async function parseSkill(file: ConfigFile): Promise<Skill> {
  const { document, body } = await parseFrontMatter(file.path, file.text)
  const matter = document.value as Record<string, unknown> | null
  const directory = dirname(file.path)
  const name = matter?.name === undefined ? basename(directory) : matter.name
  if (typeof name !== "string" || !skillName.test(name))
    throw parseError(
      file.path,
      "name: expected a short name of letters and digits",
      await document.locate(["name"]),
    )
  const description = matter?.description
  if (typeof description !== "string" || description.trim() === "")
    throw parseError(
      file.path,
      "description: expected a sentence that says when to use the skill",
      await document.locate(["description"]),
    )
  const line = description.replaceAll(/\s+/g, " ").trim().slice(0, descriptionCharactersMax)
  return { name, description: line, path: file.path, directory, body }
}
