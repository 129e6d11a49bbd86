import { expect, test } from "vitest"
import { evaluate } from "../../session/index.ts"
import { defaultRules } from "./default-rules.ts"

test.each([
  ...[
    "src/a.ts",
    "README.md",
    ".env.example",
    "app/.env.sample",
    "src/environment.ts",
    "keys.md",
    "valid_rsa.ts",
  ].map((name) => ["read", name, "allow"] as const),
  ...[".env", "app/.env", ".env.local", "a/b/.env.production", "prod.env", ".envrc", "../other/.env"].map(
    (name) => ["read", name, "ask"] as const,
  ),
  ...["server.pem", "a/tls.key", "id_rsa", "/home/me/.ssh/id_ed25519", ".ssh/config", "x.p12", ".netrc"].map(
    (name) => ["read", name, "ask"] as const,
  ),
  ...[".npmrc", "packages/a/.npmrc", "/home/me/.aws/credentials", "credentials.json"].map(
    (name) => ["read", name, "ask"] as const,
  ),
  ["edit", "src/a.ts", "ask"],
  ["bash", "ls", "ask"],
  ["webfetch", "https://example.com", "ask"],
  ["external_directory", "/etc/*", "ask"],
  ["doom_loop", "*", "ask"],
  ["budget", "*", "ask"],
  ["glob", "**/*.ts", "allow"],
  ["grep", "x", "allow"],
  ["list", ".", "allow"],
  ["skill", "pdf", "allow"],
  ["task", "explore", "allow"],
  ["todowrite", "*", "allow"],
  ["something_new", "*", "ask"],
] as const)("%s of %s is %s without any config", (permission, pattern, action) => {
  expect(evaluate(permission, pattern, defaultRules).action).toBe(action)
})
