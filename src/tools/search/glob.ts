import { z } from "zod"
import { shownName } from "../file/shown-name.ts"
import { searchPath } from "../input-names.ts"
import type { Tool } from "../tool.ts"
import { findFiles, firstShowable, leftOutNotice } from "./found-files.ts"
import { compileGlob } from "./glob-match.ts"
import { searchedDirectory, wantsOfSearch } from "./search-directory.ts"

const filesMax = 100

const GlobInput = z.object({
  pattern: z
    .string()
    .min(1)
    .max(500)
    .describe(
      "Relative to the path, such as `*.ts` (at any depth), `src/**/*.ts` or `{src,test}/**/*.{ts,tsx}`. Case counts.",
    ),
  path: searchPath,
})
type GlobInput = z.infer<typeof GlobInput>

export const globTool: Tool<GlobInput> = {
  name: "glob",
  description: [
    "Finds files by their names, the last changed first, at most 100. `*` and `?` stay inside a name, `**` stands for any",
    "directories. What ignore files name is left out, as are node_modules and the like unless they are the path.",
    "Symlinks are not followed. Search contents with grep instead.",
  ].join(" "),
  input: GlobInput,
  replay: "safe",
  writes: false,

  async wants(input, context) {
    compileGlob(input.pattern)
    return wantsOfSearch(input, context)
  },

  async execute(input, context) {
    const location = await searchedDirectory(input, context)
    const found = await findFiles(location, { context, matches: compileGlob(input.pattern) })
    const { shown, checked } = await firstShowable(found.files, { max: filesMax, context })
    const rest = found.files.length - checked
    const notices = [
      ...(rest > 0
        ? [`(${rest} more ${rest === 1 ? "file matches" : "files match"}. Narrow the pattern or the path.)`]
        : []),
      ...(found.cut ? ["(There are too many files to look at all of them. Narrow the path.)"] : []),
      ...leftOutNotice(found.leftOut),
    ]
    const lines = shown.length > 0 ? shown.map((file) => shownName(file.name)) : ["No file matches."]
    return {
      title: input.pattern,
      output: [...lines, ...notices].join("\n"),
      metadata: { count: shown.length, truncated: rest > 0 || found.cut },
    }
  },
}
