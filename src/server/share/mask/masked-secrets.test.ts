import { describe, expect, test } from "vitest"
import { createSharedMask } from "./mask-shared.ts"
import { dashes, hex, noise, pem, upper } from "./samples.ts"

const mask = createSharedMask({ values: [], paths: [] })
const one = (text: string) => mask([text])[0]!

const jwt = `eyJ${noise(20)}.eyJ${noise(40)}.${noise(43)}`
const awsSecret = ["wJalrXUtnFEMI", "K7MDENG", "bPxRfiCYEXAMPLEKEY"].join("/")
const encodedPem = Buffer.from(pem("PRIVATE KEY", 5)).toString("base64")

/** Texts with a secret: [name of the case, text, secret]. Without the third value, the whole text is the secret. */
const positives: [what: string, text: string, secret?: string][] = [
  ["OpenAI, old", `sk-${noise(48)}`],
  ["OpenAI, project", `sk-proj-${noise(30)}_${noise(30)}-${noise(20)}`],
  ["OpenAI, service account", `sk-svcacct-${noise(40)}`],
  ["Anthropic", `sk-ant-api03-${noise(60)}-${noise(20)}AA`],
  ["OpenRouter", `sk-or-v1-${hex(64)}`],
  ["Google", `AIza${noise(35)}`],
  ["Google, behind an escaped line break", `\\nAIza${noise(35)}`, `AIza${noise(35)}`],
  ["Google, access token", `ya29.${noise(60)}`],
  ["Google, client secret", `GOCSPX-${noise(28)}`],
  ["GitHub, personal", `ghp_${noise(36)}`],
  ["GitHub, OAuth", `gho_${noise(36)}`],
  ["GitHub, server", `ghs_${noise(36)}`],
  ["GitHub, refresh", `ghr_${noise(76)}`],
  ["GitHub, fine-grained", `github_pat_${noise(22)}_${noise(59)}`],
  ["GitHub, in an address", `https://ghp_${noise(36)}@github.com/a/b`, `ghp_${noise(36)}`],
  ["GitHub, behind an escaped line break", `first\\nghp_${noise(36)}`, `ghp_${noise(36)}`],
  ["GitLab", `glpat-${noise(20)}`],
  ["Slack, bot", `xoxb-123456789012-123456789012-${noise(24)}`],
  ["Slack, user", `xoxp-12345678901-${noise(30)}`],
  ["Slack, app", `xapp-1-A${upper(10)}-1234567890123-${hex(64)}`],
  ["Slack, webhook", `https://hooks.slack.com/services/T${upper(8)}/B${upper(8)}/${noise(24)}`, noise(24)],
  ["AWS, id", `AKIA${upper(16)}`],
  ["AWS, temporary id", `ASIA${upper(16)}`],
  ["AWS, secret beside its id", `AKIA${upper(16)} ${noise(20)}/${noise(19)}`, `${noise(20)}/${noise(19)}`],
  ["AWS, secret in a file", `aws_secret_access_key = ${noise(20)}/${noise(19)}`, `${noise(20)}/${noise(19)}`],
  ["Stripe, live", `sk_live_${noise(24)}`],
  ["Stripe, restricted", `rk_live_${noise(24)}`],
  ["Stripe, webhook", `whsec_${noise(32)}`],
  ["npm", `npm_${noise(36)}`],
  ["PyPI", `pypi-AgEIcHlwaS5vcmc${noise(60)}`],
  ["Hugging Face", `hf_${noise(34)}`],
  ["Telegram", `123456789:AA${noise(33)}`],
  ["Discord, bot", `MT${noise(22)}.G${noise(5)}.${noise(38)}`],
  ["Discord, webhook", `https://discord.com/api/webhooks/123456789012345678/${noise(68)}`, noise(68)],
  ["SendGrid", `SG.${noise(22)}.${noise(43)}`],
  ["Twilio", `SK${hex(32)}`],
  ["JSON Web Token", jwt],
  ["JSON Web Token in a cookie", `Cookie: session=${jwt}; theme=dark`, jwt],
  ["DigitalOcean", `dop_v1_${hex(64)}`],
  ["Shopify", `shpat_${hex(32)}`],
  ["Databricks", `dapi${hex(32)}`],
  ["Linear", `lin_api_${noise(40)}`],
  ["Notion", `secret_${noise(43)}`],
  ["Groq", `gsk_${noise(52)}`],
  ["xAI", `xai-${noise(80)}`],
  ["Replicate", `r8_${noise(37)}`],
  ["Vault", `hvs.${noise(90)}`],
  ["Mailgun", `key-${hex(32)}`],
  ["Azure storage", `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${noise(86)}==;`, noise(86)],
  ["Atlassian", `ATATT3${noise(180)}`],
  ["Authorization, bearer", `Authorization: Bearer ${noise(24)}`, noise(24)],
  ["Authorization in JSON", `{"authorization": "Bearer ${noise(24)}"}`, noise(24)],
  ["Authorization in escaped JSON", `{\\"Authorization\\": \\"Bearer ${noise(24)}\\"}`, noise(24)],
  ["Authorization, token", `curl -H 'Authorization: token ${hex(40)}'`, hex(40)],
  ["Bearer alone", `send it as bearer ${noise(32)} please`, noise(32)],
  [
    "Basic",
    `Basic ${Buffer.from("jane:hunter22").toString("base64")}`,
    Buffer.from("jane:hunter22").toString("base64"),
  ],
  ["x-api-key", `x-api-key: ${noise(20)}`, noise(20)],
  ["password in an address", "postgres://app:S3cret-pw@db.internal:5432/main", "S3cret-pw"],
  ["password with @ in an address", "redis://:p@ssw0rd@cache:6379", "p@ssw0rd"],
  ["password of letters in an address", "https://jane:correcthorse@example.org/x", "correcthorse"],
  ["token in a query", `https://api.example.org/v1?user=3&access_token=${noise(16)}`, noise(16)],
  ["signature in a query", `https://b.s3.amazonaws.com/o?X-Amz-Signature=${hex(64)}`, hex(64)],
  ["private key", pem("PRIVATE KEY")],
  ["RSA key", pem("RSA PRIVATE KEY", 25)],
  ["OpenSSH key", pem("OPENSSH PRIVATE KEY", 6)],
  ["EC key", pem("EC PRIVATE KEY")],
  ["PGP key", pem("PGP PRIVATE KEY BLOCK", 10)],
  ["private key with escaped line breaks", JSON.stringify(pem("PRIVATE KEY")).slice(1, -1)],
  ["private key without its end", pem("RSA PRIVATE KEY", 4).split("\n").slice(0, 4).join("\n"), noise(64)],
  ["private key without its beginning", pem("RSA PRIVATE KEY", 4).split("\n").slice(2).join("\n"), noise(64)],
  [
    "private key with line numbers, without its end",
    `00001| ${dashes}BEGIN PRIVATE KEY${dashes}\n00002| ${noise(64)}\n00003| ${noise(64)}`,
    noise(64),
  ],
  ["age key", `AGE-SECRET-KEY-1${upper(58)}`],
  ["PuTTY key", `Private-Lines: 2\n${noise(64)}\n${noise(40)}\nPrivate-MAC: ${hex(40)}`, noise(64)],
  [".env, key", `OPENWEATHER_API_KEY=${hex(32)}`, hex(32)],
  [".env, token", "DEPLOY_TOKEN=abc-def-ghi", "abc-def-ghi"],
  [".env, secret in quotes", 'SESSION_SECRET="keyboard cat 42"', "keyboard cat 42"],
  [".env, password of letters", "DB_PASSWORD=correcthorse", "correcthorse"],
  [".env, exported", "export MYSQL_ROOT_PASSWORD='s3cr3t pass'", "s3cr3t pass"],
  [".env, behind an escaped line break", `A=1\\nAPP_SECRET_KEY=${noise(20)}`, noise(20)],
  [".env, with a suffix", `API_TOKEN_PROD=${noise(24)}`, noise(24)],
  ["field in JSON", `{"apiKey": "${noise(24)}"}`, noise(24)],
  ["field in escaped JSON", `{\\"client_secret\\": \\"${noise(24)}\\"}`, noise(24)],
  ["field in YAML", `  api_key: ${noise(32)}`, noise(32)],
  ["password in code", 'connect({ password: "hunter2!" })', "hunter2!"],
  ["password as an option", "mysql --password=hunter22 main", "hunter22"],
  ["token as an option", `tool --token ${noise(16)} push`, noise(16)],
  ["a long token", `AWS_SESSION_TOKEN=${noise(900)}`, noise(900).slice(-40)],
  ["token with dots", "SLACK_TOKEN=abc.defghi.jkl", "abc.defghi.jkl"],
  ["password that begins with a dollar", "DB_PASSWORD='$ecret-1'", "$ecret-1"],
  ["cookie", "Set-Cookie: sid=s%3Aabc.def; Path=/; HttpOnly", "s%3Aabc.def"],
  ["Telegram, in an address", `https://api.telegram.org/bot123456789:AA${noise(33)}/sendMessage`, noise(33)],
  ["Telegram, encoded", `?u=%2Fbot123456789%3AAA${noise(33)}`, noise(33)],
  ["AWS, secret with one digit", `aws_secret_access_key = ${awsSecret}`, awsSecret],
  ["AWS, secret in YAML", `aws_secret_access_key: ${awsSecret}`, awsSecret],
  ["AWS, secret in code", `secretAccessKey: ${awsSecret}`, awsSecret],
  ["AWS, secret in quotes", `secretAccessKey: '${awsSecret}',`, awsSecret],
  ["password of letters in JSON", '{"password":"correcthorse"}', "correcthorse"],
  ["password of letters in escaped JSON", '{\\"password\\":\\"correcthorse\\"}', "correcthorse"],
  ["passphrase of letters in code", "passphrase: 'correcthorse'", "correcthorse"],
  ["client secret of letters", '{"client_secret":"abcdefghijkl"}', "abcdefghijkl"],
  ["Authorization, letters", "Authorization: Bearer abcdefghijklmnopqrstuv", "abcdefghijklmnopqrstuv"],
  ["x-api-key, letters", "x-api-key: abcdefghijklmnopqrstuv", "abcdefghijklmnopqrstuv"],
  ["x-api-key in JSON, letters", '{"x-api-key": "abcdefghijklmnopqrstuv"}', "abcdefghijklmnopqrstuv"],
  ["access token of letters in a query", "https://a.example/?access_token=abcdefghijkl", "abcdefghijkl"],
  ["API key of letters in a query", "https://a.example/?a=1&api_key=abcdefghijkl&b=2", "abcdefghijkl"],
  ["password in properties", "spring.datasource.password=hunter2", "hunter2"],
  ["password in a connection string", "Server=db;Uid=app;Pwd=hunter2;Database=main;", "hunter2"],
  ["password in a form", "user=jane&password=hunter2xyz&remember=1", "hunter2xyz"],
  ["password among fields without quotes", "{user:jane,password:hunter2xyz,db:main}", "hunter2xyz"],
  ["password in base64", "DB_PASS: aHVudGVyMg==", "aHVudGVyMg=="],
  ["password in base64, in lower case", "  password: aHVudGVyMg==", "aHVudGVyMg=="],
  ["code spans", "`DB_PASSWORD`: `hunter2xyz`", "hunter2xyz"],
  ["bold name", "**Password:** hunter2xyz", "hunter2xyz"],
  ["bold name, sign outside", "- **Password**: hunter2xyz", "hunter2xyz"],
  ["bold variable", "**API_KEY**: `abc-def-ghi-1`", "abc-def-ghi-1"],
  ["table", "| DB_PASSWORD | hunter2xyz |", "hunter2xyz"],
  ["table with code and room", "| `DB_PASSWORD`      | `hunter2xyz`   | main |", "hunter2xyz"],
  ["table without room", "|Admin password|hunter2xyz|", "hunter2xyz"],
  ["value on the next line", '"password":\n "hunter2xyz"', "hunter2xyz"],
  ["value on the next line, escaped", '\\"password\\":\\n  \\"hunter2xyz\\"', "hunter2xyz"],
  ["block in YAML", "password: |\n  hunter2xyz", "hunter2xyz"],
  ["folded block in YAML", "  DB_PASSWORD: >-\n    hunter2xyz", "hunter2xyz"],
  ["name and value in YAML", "- name: DB_PASSWORD\n  value: hunter2xyz", "hunter2xyz"],
  ["name and value in quotes", '- name: DB_PASSWORD\n  value: "hunter2xyz"', "hunter2xyz"],
  ["name and value in JSON", '{"name": "API_TOKEN", "value": "abcdef12345"}', "abcdef12345"],
  ["name and value in XML", '<add key="DbPassword" value="hunter2xyz" />', "hunter2xyz"],
  ["full-width colon", "password：hunter2xyz1", "hunter2xyz1"],
  ["full-width colon, variable", `API_KEY：${noise(24)}`, noise(24)],
  ["full-width colon, in Chinese", "数据库密码：hunter2xyz1，请保密", "hunter2xyz1"],
  ["login of docker", '{"auth":"dXNlcjpwYXNzd29yZDEyMw=="}', "dXNlcjpwYXNzd29yZDEyMw=="],
  ["login of npm", "//registry.example/:_auth=dXNlcjpwYXNzd29yZDEyMw==", "dXNlcjpwYXNzd29yZDEyMw=="],
  ["PEM in base64", `client-key-data: ${encodedPem}`, encodedPem.slice(20, 60)],
  ["end of PEM in base64", `client-key-data: ${encodedPem}`, encodedPem.slice(-40)],
  ["PEM in base64 on lines", encodedPem.replace(/.{76}/g, "$&\n"), encodedPem.slice(152, 200)],
  ["password with a slash in an address", "postgres://u:ab/cd1234@h/db", "cd1234"],
  ["password with a quote in it", '{"password":"abc123\\"def456"}', "def456"],
  ["password with a quote in it, escaped", '{\\"password\\":\\"abc123\\\\\\"def456\\"}', "def456"],
  ["curl", "curl -s -u jane:hunter2 https://a.example", "hunter2"],
  ["curl, in quotes", "curl https://a.example --user 'jane:correcthorse'", "correcthorse"],
  ["sshpass", "sshpass -p hunter2 ssh jane@a.example", "hunter2"],
  ["sshpass, in quotes", "sshpass -p 'hunter2' ssh jane@a.example", "hunter2"],
  ["mysql", "mysql -uroot -phunter2 main", "hunter2"],
  ["mysqldump, in quotes", "mysqldump -h db -p'hunter2' main", "hunter2"],
  ["netrc", "machine a.example login jane password hunter2", "hunter2"],
  ["netrc on lines", "machine a.example\n  login jane\n  password correcthorse", "correcthorse"],
  ["element", "<password>hunter2xyz</password>", "hunter2xyz"],
  ["element of letters", "<db:password>correcthorse</db:password>", "correcthorse"],
  ["option of letters", "tool --password=correcthorse --verbose", "correcthorse"],
  ["password that is compared", "if (password === 'hunter2xyz') return", "hunter2xyz"],
  ["key and value in JSON", '{"key":"accessToken","value":"abc123xyz"}', "abc123xyz"],
  ["pass in code", 'auth: { user: "jane", pass: "hunter2xyz" }', "hunter2xyz"],
]

/** Values of letters only, with nothing after them on the line. */
const loneWords = [
  "password=correcthorse",
  "password: correcthorse",
  "  spring.mail.password = correcthorse",
  "DB_PASSWORD: correcthorse",
  "db_pass: correcthorse",
  "passphrase: correcthorse",
  "**Password:** correcthorse",
]

/** No sign separates the name and the value, so the value must end the line or be in quotes. */
const settings: [text: string, secret: string][] = [
  ["ENV API_KEY abc-123-def", "abc-123-def"],
  ["ENV DB_PASSWORD correcthorse", "correcthorse"],
  ['ENV SESSION_SECRET "keyboard cat 42"', "keyboard cat 42"],
  [`ARG NPM_TOKEN ${noise(24)}`, noise(24)],
  [`  3| ENV SIGNING_KEY_PROD ${noise(24)}`, noise(24)],
  [`ENV SORT_KEY ${noise(24)}`, noise(24)],
  ["set -x API_KEY abc-123-def", "abc-123-def"],
  ["set -gx API_KEY 'abc-123-def'; and echo done", "abc-123-def"],
  ["> set -Ux DEPLOY_TOKEN correcthorse", "correcthorse"],
  ["set --global --export API_KEY abc-123-def # mine", "abc-123-def"],
  ["echo a && set -g -x API_KEY abc-123-def && run", "abc-123-def"],
  ["jane@host ~> set -gx API_KEY correcthorse", "correcthorse"],
  [`ENV AWS_SESSION_TOKEN ${noise(900)}`, noise(900)],
  ["setenv API_KEY abc-123-def", "abc-123-def"],
  ["setx API_KEY abc-123-def", "abc-123-def"],
  ["C:\\> setx API_KEY abc-123-def /M", "abc-123-def"],
  ['SETX /M API_KEY "abc-123-def"', "abc-123-def"],
  ["write `ENV API_KEY abc-123-def` there", "abc-123-def"],
  ["FROM a\\nENV API_KEY abc-123-def\\nRUN b", "abc-123-def"],
  ["FROM a\\nENV DB_PASSWORD correcthorse\\nRUN b", "correcthorse"],
]

describe("a secret is masked", () => {
  test.each(positives)("%s", (_, text, secret = text) => {
    for (const placed of [text, `before ${text} after`, `"${text}"`, `a\n${text}\nb`]) {
      const shown = one(placed)
      expect(shown).toContain("[redacted]")
      expect(shown).not.toContain(secret)
    }
  })

  test.each(loneWords)("%s", (text) => {
    expect(one(`a\n${text}\nb`)).toBe(`a\n${text.replace("correcthorse", "[redacted]")}\nb`)
  })

  test.each(settings)("%s", (text, secret) => {
    expect(one(text)).toBe(text.replace(secret, "[redacted]"))
    expect(one(`a\n${text}\nb`)).toBe(`a\n${text.replace(secret, "[redacted]")}\nb`)
  })

  test("the text around a secret stays", () => {
    expect(one("Server=db;Pwd=hunter2;Database=main")).toBe("Server=db;Pwd=[redacted];Database=main")
    expect(one("| DB_PASSWORD | `hunter2xyz` | main |")).toBe("| DB_PASSWORD | `[redacted]` | main |")
    expect(one("password: |\n  hunter2xyz\nuser: jane")).toBe("password: |\n  [redacted]\nuser: jane")
    expect(one("curl -u jane:hunter2 https://a.example")).toBe("curl -u jane:[redacted] https://a.example")
    expect(one(`client-key-data: ${encodedPem}\nkind: Config`)).toBe(
      "client-key-data: [redacted]\nkind: Config",
    )
    expect(one("数据库密码：hunter2xyz1，请保密")).toBe("数据库密码：[redacted]，请保密")
    expect(one(`use AIza${noise(35)}, then go on`)).toBe("use [redacted], then go on")
    expect(one("DB_PASSWORD=correcthorse\nDB_HOST=localhost")).toBe(
      "DB_PASSWORD=[redacted]\nDB_HOST=localhost",
    )
    expect(one(`Authorization: Bearer ${noise(24)}\nHost: a`)).toBe(
      "Authorization: Bearer [redacted]\nHost: a",
    )
    expect(one("postgres://app:S3cret-pw@db/main")).toBe("postgres://app:[redacted]@db/main")
    expect(one(`a\n${pem("PRIVATE KEY")}\nb`)).toBe("a\n[redacted]\nb")
  })
})
