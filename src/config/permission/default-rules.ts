import type { Rule, Ruleset } from "../../protocol/index.ts"

/** Names of files that hold secrets, wherever they are. In a pattern `*` also stands for text with `/` in it. */
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

/** They show which variables there are, not what they hold. */
const harmless = [".env.example", ".env.sample", ".env.template"]

const anywhere = (name: string): string[] => [name, `*/${name}`]

/** The patterns of files that only a person may let a model read. */
export const secretPatterns: readonly string[] = [...secretNames.flatMap(anywhere), ...secretEndings]

const whole = (permission: string, action: Rule["action"]): Rule => ({ permission, pattern: "*", action })

/** What holds before anybody configured anything. What no rule speaks of is asked. */
export const defaultRules: Ruleset = [
  whole("read", "allow"),
  ...secretPatterns.map((pattern): Rule => ({ permission: "read", pattern, action: "ask" })),
  ...harmless.flatMap(anywhere).map((pattern): Rule => ({ permission: "read", pattern, action: "allow" })),
  whole("glob", "allow"),
  whole("grep", "allow"),
  whole("list", "allow"),
  whole("edit", "ask"),
  whole("bash", "ask"),
  whole("webfetch", "ask"),
  whole("external_directory", "ask"),
  whole("doom_loop", "ask"),
  whole("budget", "ask"),
  whole("skill", "allow"),
  whole("task", "allow"),
  whole("todoread", "allow"),
  whole("todowrite", "allow"),
  whole("recall", "allow"),
]
