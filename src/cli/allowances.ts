import { type PermissionRequest, type Ruleset, StemmaError } from "../protocol/index.ts"
import { evaluate } from "../session/index.ts"

/** Names that people try, with the permission that they mean. */
const meant: Record<string, string> = {
  write: "edit",
  patch: "edit",
  multiedit: "edit",
  shell: "bash",
  fetch: "webfetch",
}

/** Questions that are answered with yes before they are asked: the values of `--allow`. */
export class Allowances {
  readonly #rules: Ruleset

  /** Each rule is a permission, or a permission, a colon and a pattern: `edit`, `bash:npm test *`. */
  constructor(rules: readonly string[]) {
    this.#rules = rules.map((text) => {
      const [, permission, pattern = "*"] = /^([a-z][\w-]*)(?::(.+))?$/s.exec(text) ?? []
      if (permission === undefined) {
        throw new StemmaError(
          "invalid",
          `--allow takes a permission such as edit, or a permission and a pattern such as "bash:npm test *", not ${JSON.stringify(text.slice(0, 80))}.`,
        )
      }
      const other = Object.hasOwn(meant, permission) ? meant[permission] : undefined
      if (other) {
        throw new StemmaError(
          "invalid",
          `There is no permission ${permission}. Use --allow ${other} instead of --allow ${permission}.`,
        )
      }
      return { permission, pattern, action: "allow" }
    })
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0
  }

  /**
   * True if every pattern of the question is allowed. A question that cannot be answered with `always` (Stemma's config,
   * `.git`, a command that cannot be parsed) is for a person alone: no rule in a config allows it either.
   */
  covers({ permission, patterns, always }: PermissionRequest): boolean {
    if (always.length === 0 || patterns.length === 0) return false
    return patterns.every((pattern) => evaluate(permission, pattern, this.#rules).action === "allow")
  }
}
