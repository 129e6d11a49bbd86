import type { TextSpan } from "../text-span.ts"
import { assignedSpans } from "./assigned-secrets.ts"
import { passwordHashSpans } from "./keys/password-hashes.ts"
import { randomKeySpans } from "./keys/random-keys.ts"
import { serviceKeySpans } from "./keys/service-keys.ts"
import { commandPasswordSpans } from "./passwords/command-passwords.ts"
import { configPasswordSpans } from "./passwords/config-passwords.ts"
import { formPasswordSpans } from "./passwords/form-passwords.ts"
import { proseSecretSpans } from "./passwords/prose-secrets.ts"
import { sqlPasswordSpans } from "./passwords/sql-passwords.ts"
import { tableSecretSpans } from "./passwords/table-secrets.ts"
import { privateKeySpans } from "./private-keys.ts"
import { requestSpans } from "./request-secrets.ts"
import { searchViews } from "./search-views.ts"
import { formatSpans } from "./secret-formats.ts"

/** Finds one kind of secret. The kind is what a preview names, in place of the secret. */
interface SecretFinder {
  kind: string
  find(text: string): TextSpan[]
  /** True if secrets may be broken over lines: they are also searched in joined lines. */
  isBreakable?: boolean
}

/** If two finders overlap, the kind of the first is reported. */
const secretFinders: readonly SecretFinder[] = [
  { kind: "private key", find: privateKeySpans },
  { kind: "password hash", find: passwordHashSpans },
  {
    kind: "key of a service",
    find: (text) => [...serviceKeySpans(text), ...formatSpans(text)],
    isBreakable: true,
  },
  { kind: "header, address or cookie", find: requestSpans },
  { kind: "password in a command", find: commandPasswordSpans },
  { kind: "password in a config file", find: configPasswordSpans },
  { kind: "password in SQL", find: sqlPasswordSpans },
  { kind: "password in a form or call", find: formPasswordSpans },
  { kind: "value behind a secret name", find: assignedSpans, isBreakable: true },
  { kind: "secret in a table", find: tableSecretSpans },
  { kind: "secret in a sentence", find: proseSecretSpans },
]

/** Random text is searched last, and not in lines that a joined form replaces: a long run over many lines is data. */
export { randomUnitsMin } from "./keys/random-keys.ts"
export const randomKind = "random text"
const randomFinder: SecretFinder = { kind: randomKind, find: randomKeySpans }

export interface FoundSecret extends TextSpan {
  kind: string
}

/** Finds the secrets of a text, by their form and by the words around them. */
export function findSecrets(text: string): FoundSecret[] {
  const views = searchViews(text)
  return views.flatMap((view, at) => {
    const isReplaced = view.isWhole && views[at + 1]?.isWhole === false
    const finders = view.isWhole ? secretFinders : secretFinders.filter(({ isBreakable }) => isBreakable)
    return [...finders, ...(isReplaced ? [] : [randomFinder])].flatMap(({ kind, find }) =>
      find(view.text).map((span) => ({ kind, ...view.origin(span) })),
    )
  })
}
