import type { Rule, Ruleset } from "../../protocol/index.ts"
import { anywhere, secretPatterns } from "./secret-names.ts"

/** These files show names of variables, not their values. */
const publicNames = [".env.example", ".env.sample", ".env.template"]

const anyPattern = (permission: string, action: Rule["action"]): Rule => ({
  permission,
  pattern: "*",
  action,
})

/** The rules before any config is applied. A request that no rule matches is asked about. */
export const defaultRules: Ruleset = [
  anyPattern("read", "allow"),
  ...secretPatterns.map((pattern): Rule => ({ permission: "read", pattern, action: "ask" })),
  ...publicNames.flatMap(anywhere).map((pattern): Rule => ({ permission: "read", pattern, action: "allow" })),
  anyPattern("glob", "allow"),
  anyPattern("grep", "allow"),
  anyPattern("list", "allow"),
  anyPattern("edit", "ask"),
  anyPattern("bash", "ask"),
  anyPattern("webfetch", "ask"),
  anyPattern("external_directory", "ask"),
  anyPattern("doom_loop", "ask"),
  anyPattern("budget", "ask"),
  anyPattern("skill", "allow"),
  anyPattern("task", "allow"),
  anyPattern("todoread", "allow"),
  anyPattern("todowrite", "allow"),
  anyPattern("recall", "allow"),
]
