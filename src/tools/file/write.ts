import { z } from "zod"
import { filePath } from "../input-names.ts"
import type { Tool } from "../tool.ts"
import { type Change, changeMetadata, openKnown, replaceFile } from "./file-change.ts"
import { editWants, resolveAgain, wantsOfChange } from "./file-wants.ts"
import { type OpenedFile, readText } from "./open-file.ts"
import { withPathLock } from "./path-lock.ts"
import { shownName } from "./shown-name.ts"

const comparedBytesMax = 1024 * 1024

const WriteInput = z.object({
  filePath,
  content: z.string().describe("The whole new content of the file."),
})
type WriteInput = z.infer<typeof WriteInput>

export const writeTool: Tool<WriteInput> = {
  name: "write",
  description: [
    "Writes a whole file, and makes its directories. A file that exists must have been read before, as it is now; its old",
    "content is gone. Use the edit tool to change a part of a file.",
  ].join(" "),
  input: WriteInput,
  replay: "never",
  writes: true,

  async wants(input, context) {
    return wantsOfChange(input.filePath, {
      input,
      context,
      describeChange: async (location) => {
        const opened = await openKnown(location, context)
        await using _ = opened?.handle
        const name = shownName(location.name)
        return changeMetadata(location, await changeOf(opened, { name, after: input.content }))
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
      const change = await changeOf(opened, { name: shownName(location.name), after: input.content })
      const state = await replaceFile(location, { text: input.content, before: opened?.stats })
      context.reads.note(location.path, state)
      return {
        title: shownName(location.name),
        output: `${change.exists ? "Wrote" : "Made"} ${shownName(location.name)} (${state.size} bytes).`,
        metadata: changeMetadata(location, change),
      }
    })
  },
}

async function changeOf(
  opened: OpenedFile | undefined,
  { name, after }: { name: string; after: string },
): Promise<Change> {
  if (opened === undefined) return { before: undefined, after, exists: false }
  const before = await readText(opened, { name, bytesMax: comparedBytesMax }).catch(() => undefined)
  return { before, after, exists: true }
}
