import { describe, expect, test } from "vitest"
import { defaultRules } from "../../src/config/permission/default-rules.ts"
import type { RulesInput } from "../../src/protocol/index.ts"
import { evaluate } from "../../src/session/index.ts"
import { readTool } from "../../src/tools/file/read.ts"
import { globTool } from "../../src/tools/search/glob.ts"
import { grepTool } from "../../src/tools/search/grep.ts"
import { toolContext } from "../support/tool-context.ts"

const rules: RulesInput = {}
for (const { permission, pattern, action } of defaultRules) {
  const lines = rules[permission]
  rules[permission] = { ...(typeof lines === "object" ? lines : {}), [pattern]: action }
}

const secrets = [
  ".vault-token",
  ".dockercfg",
  ".config/gh/hosts.yml",
  "kubeconfig",
  "deploy/kubeconfig.yaml",
  "prod.kubeconfig",
  ".cargo/credentials.toml",
  ".cargo/credentials",
  "client_secret_123.apps.googleusercontent.com.json",
  "auth.json",
  "config/token.json",
  ".terraformrc",
  ".s3cfg",
  ".azure/accessTokens.json",
  ".azure/msal_token_cache.json",
  ".bash_history",
  ".zsh_history",
  ".local/share/fish/fish_history",
  ".python_history",
  ".psql_history",
  ".mysql_history",
  ".node_repl_history",
  ".rediscli_history",
  ".sqlite_history",
  "..env.swp",
  ".env.swp",
  ".env~",
  "#.env#",
  ".env.orig",
  "app/..env.swo",
  "server.pem.bak",
  "tls/server.key.old",
  "store.p12.orig",
  "id_rsa.old",
  ".id_rsa.swp",
  "id_ed25519~",
  ".npmrc.bak",
  "..npmrc.swp",
  ".netrc~",
  ".pgpass",
  ".my.cnf",
  ".pypirc",
  ".htpasswd.old",
  ".config/gcloud/application_default_credentials.json",
  "application_default_credentials.json",
  "my-app-firebase-adminsdk-x1.json",
  "service_account.json",
  "serviceAccountKey.json",
  ".aws/credentials",
  ".kube/config",
  ".kube/config.bak",
  "rclone.conf",
  ".config/rclone/rclone.conf",
  ".git-credentials",
  ".config/sops/age/keys.txt",
  "wg0.conf",
  "client.ovpn",
  ".htpasswd",
  "terraform.tfstate.backup",
  "prod.tfvars",
  "prod.auto.tfvars.json",
  "vault.kdbx",
  "AuthKey_AB12.p8",
  ".envrc",
  ".op/config",
  ".password-store/mail.gpg",
  ".m2/settings.xml",
  ".databrickscfg",
  "rootkey_accessKeys.csv",
  "home/etc/shadow-",
]

const harmless = [
  "auth.json.ts",
  "src/token.ts",
  "auth.test.json",
  "src/auth/auth.ts",
  "tokens.json",
  "design-token.json",
  "src/token.json.ts",
  "client_secret.ts",
  "kubeconfig.ts",
  "docs/kubeconfig.md",
  "src/history.ts",
  "chat_history.json",
  "src/bash-history.ts",
  "environment.ts",
  ".env.example",
  "src/credentials.ts",
  "credentials.test.ts",
  "keys.md",
  "src/swap.ts",
  "README.md",
  "package.json",
  "tsconfig.json",
  "nginx.conf",
  "app.config.ts",
  "valid_rsa.ts",
  "src/npmrc.ts",
  "terraform.tf",
  "main.tf",
  "Session.vim",
  ".gitignore",
  ".github/workflows/ci.yml",
  "backup.sh",
  "data.bak",
  "index.ts.orig",
  "settings.xml",
  "src/azure/client.ts",
  "hosts.yml",
]

describe("files whose name says that they have secrets", () => {
  test.each(secrets)("%s is read only with permission", async (filePath) => {
    await using context = await toolContext({
      rules,
      files: { [filePath]: "inside" },
      answer: () => "reject",
    })
    await expect(context.call(readTool, { filePath })).rejects.toThrow()
    expect(context.questions).toMatchObject([{ permission: "read", patterns: [filePath] }])
    expect(evaluate("read", `/home/jane/${filePath}`, defaultRules).action).toBe("ask")
  })

  test.each(harmless)("%s is read without a question", async (filePath) => {
    await using context = await toolContext({ rules, files: { [filePath]: "inside" } })
    expect((await context.call(readTool, { filePath })).output).toContain("inside")
    expect(context.questions).toEqual([])
  })

  test("a search leaves them out", async () => {
    const files = Object.fromEntries([...secrets, ...harmless].map((name) => [name, "the needle"]))
    await using context = await toolContext({ rules, files })
    const found = [
      (await context.call(grepTool, { pattern: "needle" })).output,
      (await context.call(globTool, { pattern: "**/*" })).output,
    ].join("\n")
    expect(found).toContain("src/token.ts")
    const lines = found.split(/[\n:]/)
    expect(secrets.filter((name) => lines.includes(name))).toEqual([])
  })

  test("a file is judged in a few microseconds, because a search judges every file of a project", () => {
    const names = Array.from(
      { length: 20_000 },
      (_, at) => `packages/app-${at}/src/components/table/row-${at}.tsx`,
    )
    const before = process.cpuUsage()
    for (const name of names) expect(evaluate("read", name, defaultRules).action).toBe("allow")
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / names.length).toBeLessThan(100)
  })
})
