import type { Example } from "./examples.ts"
import type { Labelled } from "./train.ts"

/** One trained model: `of` selects its examples, and `finds` tells which of them it must find. */
export interface Head {
  of: (example: Example) => boolean
  finds: (example: Example) => boolean
}

const isUsers = ({ file }: Example) => file.startsWith("user-")

export const heads = {
  /** Sentences of a user that still matter. */
  userMatters: { of: isUsers, finds: ({ matters }) => matters },
  /** Sentences of an assistant that still matter. */
  assistantMatters: { of: (example) => !isUsers(example), finds: ({ matters }) => matters },
  /** Sentences in which an assistant names work that is left to do. */
  leavesOpen: { of: (example) => !isUsers(example), finds: ({ kind }) => kind === "left" },
  /** Sentences of a user or an assistant that report a changed file. */
  tellsChange: { of: () => true, finds: ({ kind }) => kind === "changed" },
} satisfies Record<string, Head>

export function labelled(examples: readonly Example[], { of, finds }: Head): Labelled[] {
  return examples.filter(of).map((example) => ({ places: example.places, label: finds(example) }))
}
