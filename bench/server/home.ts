import { mkdir, writeFile } from "node:fs/promises"
import { dirname } from "node:path"
import { stemmaOptions } from "../run/setup.ts"
import { token } from "./stage.ts"

/** A user's home with a config that names the model. */
export async function makeHome(
  home: string,
  baseURL: string,
  config: object = {},
): Promise<Record<string, string> & { HOME: string }> {
  const path = `${home}/.config/stemma/stemma.json`
  await mkdir(dirname(path), { recursive: true })
  const options = stemmaOptions({ baseURL, directory: home, data: home })
  await writeFile(path, JSON.stringify({ ...options.config, ...config }))
  return { HOME: home, PATH: process.env.PATH ?? "", STEMMA_TOKEN: token }
}
