import type { Rule, Ruleset } from "../../protocol/index.ts"

/** Names of files with secrets, in any directory. In a pattern `*` also matches `/`. */
const secretNames = [
  ".env*",
  "id_rsa*",
  "id_dsa*",
  "id_ecdsa*",
  "id_ed25519*",
  ".netrc",
  "_netrc",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".htpasswd",
  ".git-credentials",
  "credentials",
  "credentials.json",
  "secrets.json",
  "secrets.yml",
  "secrets.yaml",
  "secrets.toml",
  "service-account*.json",
  ".ssh/*",
  ".aws/*",
  ".gnupg/*",
  ".kube/config",
  ".docker/config.json",
  ".config/gcloud/*",
]

const secretEndings = [
  "*.env",
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  "*.ppk",
  "*.jks",
  "*.keystore",
  "*.kdbx",
  "*.tfvars",
  "*.tfstate",
]

/** These files show names of variables, not their values. */
const publicNames = [".env.example", ".env.sample", ".env.template"]

const anywhere = (name: string): string[] => [name, `*/${name}`]

/** Patterns of files that a model may read only with a person's permission. */
export const secretPatterns: readonly string[] = [...secretNames.flatMap(anywhere), ...secretEndings]

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
