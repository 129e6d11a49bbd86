import { z } from "zod"
import type { ResolvedPath } from "../../workspace/workspace.ts"
import { filePath } from "../input-names.ts"
import type { Tool } from "../tool.ts"
import { type Change, changeMetadata, openKnown, replaceFile } from "./file-change.ts"
import { editWants, resolveAgain, wantsOfChange } from "./file-wants.ts"
import { type OpenedFile, readText } from "./open-file.ts"
import { withPathLock } from "./path-lock.ts"
import { replaceText } from "./replace-text.ts"
import { shownName } from "./shown-name.ts"

const fileBytesMax = 16 * 1024 * 1024

const EditInput = z.object({
  filePath,
  oldString: z
    .string()
    .describe(
      "The text to replace, exactly as it is in the file, without line numbers. Empty to make a new file.",
    ),
  newString: z.string().describe("The text that replaces it."),
  replaceAll: z.boolean().optional().describe("Replace every occurrence instead of the only one."),
})
type EditInput = z.infer<typeof EditInput>

export const editTool: Tool<EditInput> = {
  name: "edit",
  description: [
    "Replaces a text in a file. The file must have been read before, as it is now. oldString must occur exactly once, unless",
    "replaceAll is set: give enough lines around it. White space counts. CRLF line ends are kept.",
  ].join(" "),
  input: EditInput,
  replay: "never",
  writes: true,

  async wants(input, context) {
    if (input.oldString === input.newString)
      throw new Error("oldString and newString are the same. There is nothing to change.")
    return wantsOfChange(input.filePath, {
      input,
      context,
      describeChange: async (location) => {
        const opened = await openKnown(location, context)
        await using _ = opened?.handle
        return changeMetadata(location, (await edited(opened, { location, input })).change)
      },
    })
  },

  async execute(input, context) {
    const location = await resolveAgain(input.filePath, {
      input,
      context,
      wants: (now) => editWants(now, {}),
    })
    return withPathLock(location.path, async () => {
      context.signal.throwIfAborted()
      const opened = await openKnown(location, context)
      await using _ = opened?.handle
      const { change, said } = await edited(opened, { location, input })
      const state = await replaceFile(location, { text: change.after, before: opened?.stats })
      context.reads.note(location.path, state)
      return { title: shownName(location.name), output: said, metadata: changeMetadata(location, change) }
    })
  },
}

async function edited(
  opened: OpenedFile | undefined,
  { location, input }: { location: ResolvedPath; input: EditInput },
): Promise<{ change: Change; said: string }> {
  const name = shownName(location.name)
  if (input.oldString === "") {
    if (opened !== undefined) {
      throw new Error(
        `${name} already exists. Give the text to replace as oldString, or use write for the whole file.`,
      )
    }
    return { change: { before: undefined, after: input.newString, exists: false }, said: `Made ${name}.` }
  }
  if (opened === undefined) {
    throw new Error(`There is no file ${name}. Use glob or list to find it, or write to make it.`)
  }
  const before = await readText(opened, { name, bytesMax: fileBytesMax })
  const { text, count, line } = replaceText(before, { ...input, name })
  const said =
    count === 1
      ? `Edited ${name} at line ${line}.`
      : `Edited ${name} in ${count} places, the first at line ${line}.`
  return { change: { before, after: text, exists: true }, said }
}
