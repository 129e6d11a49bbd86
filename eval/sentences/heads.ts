import type { Example } from "./examples.ts"
import type { Labelled } from "./train.ts"

/** What is trained: which examples, and which of them are to be found. */
export interface Head {
  of: (example: Example) => boolean
  finds: (example: Example) => boolean
}

const isUsers = ({ file }: Example) => file.startsWith("user-")

export const heads = {
  /** What a user said that still matters. */
  userMatters: { of: isUsers, finds: ({ matters }) => matters },
  /** What an assistant said that still matters. */
  assistantMatters: { of: (example) => !isUsers(example), finds: ({ matters }) => matters },
  /** Work that an assistant says is left. */
  leavesOpen: { of: (example) => !isUsers(example), finds: ({ kind }) => kind === "left" },
  /** That a file was changed, whoever says so. */
  tellsChange: { of: () => true, finds: ({ kind }) => kind === "changed" },
} satisfies Record<string, Head>

export function labelled(examples: readonly Example[], { of, finds }: Head): Labelled[] {
  return examples.filter(of).map((example) => ({ places: example.places, label: finds(example) }))
}
