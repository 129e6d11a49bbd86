import { describe, expect, test } from "vitest"
import { createSharedMask } from "./mask-shared.ts"

const mask = createSharedMask({ values: [], paths: [] })
const one = (text: string) => mask([text])[0]!

/** Put together here, so that no secret scanner takes them for real. */
const password = ["hunT3r", "2xK9"].join("")
const token = ["a1B2c3D4e5F6", "g7H8i9J0k1L2"].join("")
const escaped = (text: string) => JSON.stringify(text).slice(1, -1)

/** In each of these texts only the secret is replaced. */
const forms: [what: string, text: string, secret: string][] = [
  ["aligned by terraform", `  storage  = 20\n  password             = "${password}"\n`, password],
  ["aligned key", `  api_key              = "${token}"`, token],
  ["aligned behind the colon", `password:                 ${password}`, password],
  ["aligned in YAML", `password        : ${password}`, password],
  ["aligned variable", `DB_PASSWORD            = "${password}"`, password],
  ["a space that does not break", `password:\u00a0${password}`, password],
  ["a full-width space", `密码：\u3000${password}`, password],
  ["bytes", `password = b"${password}"`, password],
  ["bytes of a variable", `SECRET_KEY = b'${token}'`, token],
  ["a dict of Python 2", `{u'password': u'${password}'}`, password],
  ["a raw string", `password = r"${password}"`, password],
  ["a string to be formatted", `password = f"${password}"`, password],
  ["three quotes", `password = """${password}"""`, password],
  ["Rust", `Config { password: Some("${password}") }`, password],
  ["Rust, a variable", `DB_PASSWORD: Some("${password}")`, password],
  ["Python's environment", `os.environ["DB_PASSWORD"] = "${password}"`, password],
  ["Ruby's environment", `ENV['X_TOKEN'] = '${password}'`, password],
  ["print_r", `    [password] => ${password}`, password],
  ["var_dump", `["password"]=>\n  string(10) "${password}"`, password],
  ["bold with underscores", `__Password:__ ${password}`, password],
  ["italic", `_Password_: ${password}`, password],
  ["bold in HTML", `<b>Password:</b> ${password}`, password],
  ["colours", `\u001b[36mDB_PASSWORD\u001b[0m=\u001b[33m${password}\u001b[0m`, password],
  ["JSON in JSON", `"${escaped(escaped(`{"password": "${password}"}`))}"`, password],
  ["JSON in JSON in JSON", escaped(escaped(escaped(`{"api_key": "${token}"}`))), token],
  ["two backslashes", `\\\\"password\\\\": \\\\"${password}\\\\"`, password],

  [
    "AWS, with a slash first",
    "AWS_SECRET_ACCESS_KEY=/JalrXUtnFEMI/K7MDENG/bPxRfiCYzzzKEY",
    "/JalrXUtnFEMI/K7MDENG/bPxRfiCYzzzKEY",
  ],
  ["base64 with a slash first", "SESSION_SECRET=/k9Zq2v8Lw1Xy3Tb7Nn5Qm==", "/k9Zq2v8Lw1Xy3Tb7Nn5Qm=="],
  ["bearer with a slash first", "Authorization: Bearer /k9Zq2v8Lw1Xy3Tb7Nn5Qm==", "/k9Zq2v8Lw1Xy3Tb7Nn5Qm=="],
  ["client secret with a slash first", '"client_secret": "/k9Zq2v8Lw1Xy3Tb7Nn5Qm"', "/k9Zq2v8Lw1Xy3Tb7Nn5Qm"],
  ["password with a slash first", 'password: "/xK9q2z!"', "/xK9q2z!"],
  ["password with ~/ first", "PASSWORD=~/x9Kq2zz", "~/x9Kq2zz"],
  ["a bracket, and no call", "DB_PASSWORD=abc(12cdEF9", "abc(12cdEF9"],
  ["brackets, and no index", "DB_PASSWORD=abcX[12cdEF9]q", "abcX[12cdEF9]q"],
  ["a dollar in single quotes", "DB_PASSWORD='$ecretabc'", "$ecretabc"],
  ["a dollar in double quotes", 'password: "$uperS3cret"', "$uperS3cret"],
  ["an opening sign alone", "DB_PASSWORD='<9xKq2!z'", "<9xKq2!z"],
  ["two opening signs alone", 'password: "{{xK9q2z"', "{{xK9q2z"],
  ["your, and more", "DB_PASSWORD=your-9xKq2zzAA", "your-9xKq2zzAA"],
  ["two dots, and more", "DB_PASSWORD=..9xKq2zzAA", "..9xKq2zzAA"],

  ["a quote within", 'DB_PASSWORD=ab"cd9efgh', 'ab"cd9efgh'],
  ["an apostrophe within", "DB_PASSWORD=abcd'efgh1234", "abcd'efgh1234"],
  ["an apostrophe within, in YAML", "password: abcd12'efgh34", "abcd12'efgh34"],
  ["a backslash within", "DB_PASSWORD=abcd\\efgh1234", "abcd\\efgh1234"],
  ["a quote that was opened before", `docker run -e "DB_PASSWORD=${password}" image`, password],
  ["quotes that were opened before", `["DB_PASSWORD=${password}","A=1"]`, password],
  ...[..."?,(|<{["].map((sign): [string, string, string] => [
    `${sign} within`,
    `password: ab${sign}12cdEF9`,
    `ab${sign}12cdEF9`,
  ]),
  ...["…", "—ok", "→ok", "🔑", "！", "？", "（请勿外传）", "】", "，请", "”"].map(
    (behind): [string, string, string] => [`${behind} behind`, `密码：${password}${behind}`, password],
  ),
  ["a bar and the next name behind", `password:${password}|user:jane`, password],
  ["a note behind a token", `token: ${token}|mine`, token],
  ["typographic quotes", `password: “${password}”`, password],
  ["Chinese quotes", `密码：「${password}」！`, password],

  ...["SSWS", "Bot", "GenieKey", "Splunk", "Bearer:", "Anything"].map((scheme): [string, string, string] => [
    `Authorization: ${scheme}`,
    `Authorization: ${scheme} ${token}`,
    token,
  ]),
  ["Authorization in a list", `"Authorization": ["Token ${token}"]`, token],
  ["Authorization as Go prints it", `map[Authorization:[Bearer ${token}]]`, token],
  ["x-api-key in a list", `"x-api-key": ["${token}"]`, token],

  ["cookies as Node prints them", `'set-cookie': [ 'sid=${token}; Path=/' ]`, `sid=${token}; Path=/`],
  ["cookies in JSON", `{"set-cookie":["sid=${token}"]}`, `sid=${token}`],
  ["cookies as Go prints them", `map[Cookie:[sid=${token}]]`, `sid=${token}]]`],
  ["document.cookie", `document.cookie = "sid=${token}"`, `sid=${token}`],
  ["cookies of curl", `curl -b 'sid=${token}; a=b' https://a.example`, `sid=${token}; a=b`],
  ["cookies of curl, bare", `curl -s --cookie sid=${token} https://a.example`, `sid=${token}`],

  ["curl behind &", `curl "https://a.example/?a=1&b=2" -u jane:${password}`, password],
  ["curl behind ;", `curl -H "Accept: a/b; charset=utf-8" -u jane:${password} https://a`, password],
  ["curl behind |", `curl -d 'a|b' -u jane:${password} https://a`, password],
  ["curl -su", `curl -su jane:${password} https://a`, password],
  ["mysql with its path", `/usr/bin/mysql -uroot -p${password} main`, password],
  ["netrc with an account", `machine a.example login jane account x password ${password}`, password],
  ["arguments in a list", `["--password", "${password}"]`, password],
  ["arguments in a list, token", `["--token","${token}"]`, token],
  ["an option that goes on on the next line", `tool --password \\\n  ${password}`, password],

  ["a table of lines", `│ password │ ${password} │`, password],
  ["a wide table", `| password${" ".repeat(60)} | ${password}    |`, password],
  ["an element with attributes", `<password type="plain">${password}</password>`, password],
  ["an element on lines", `<password>\n  ${password}\n</password>`, password],
  ["an element with CDATA", `<password><![CDATA[${password}]]></password>`, password],
  ["an element with a name", `<property name="db.password">${password}</property>`, password],
  ["an element of Android", `<string name="api_key">${token}</string>`, token],

  ["a token as the name in an address", `https://${token}:@a.example/x`, token],
  ["JSON of PHP", `"https:\\/\\/me:${password}@a.example\\/x"`, password],
]

const stays = [
  `headers: { authorization: \`Bearer \${token}\` }`,
  `headers: { Authorization: \`token \${process.env.GH}\` }`,
  `authorization: \`Basic \${Buffer.from(\`a:\${token}\`).toString('base64')}\``,
  `Authorization: \`Bearer \${loadApiKey({`,
  'headers["authorization"] = "Basic " + base64.b64encode(x1)',
  `Authorization: \`Bearer x\${token}\``,
  "Authorization: https://example.org/html/rfc6749#section-3.1",
  `"WWW-Authenticate": \`Bearer realm="\${realm}",error="\${error1}"\``,
  "Authorization: see the documentation of version 2024",
  '"https://%s:%s@host"',
  "password: 'required|min:8'",
  "password: digits:8|max:20",
  "?sort_key=created_at1&a=b",
  "CACHE_KEY=v1-node-modules-2024abc",
  "MONKEY=abcdefgh12345",
  "mysql -port 3306",
  "mysql -protocol tcp",
  "PASSWORD=$(cat /run/secrets/db2)",
  "POSTGRES_PASSWORD_FILE: /run/secrets/pw1",
  "DB_PASSWORD=/run/secrets/db",
  "TLS_SECRET=/etc/ssl/private/serverKey-2024.pem",
  'token: "/api/v1/tokens/:id"',
  "SSH_PRIVATE_KEY=~/.ssh/id_ed25519",
  "API_KEY=<your key here>",
  `DB_PASSWORD: \${{ secrets.DB_PASSWORD1 }}`,
  'DB_PASSWORD="$db_password"',
  "DB_PASSWORD=$dbPassword1",
  'password = f"{settings.password}"',
  "password: hash(password1, 10)",
  "password: hash1(\n  x)",
  "const password = users[0].password2",
  "password: Branded1<string>",
  "check: (password) => password.length >= 8",
  "check:password=>password.length>8",
  "$password = $user->password1",
  "password: /^[a-z]{8}1$/",
  "password: {type:String,min:8}",
  "Password: at least 8 characters",
  "密码：至少8位",
  'document.cookie = "theme=dark"',
  `document.cookie = \`sid=\${session1}; path=/\``,
  '["--password", "--verbose"]',
  '<label name="password">Enter it</label>',
  '<password type="string">{{password1}}</password>',
]

describe("a secret is masked, however it is written", () => {
  test.each(forms)("%s", (_, text, secret) => {
    expect(one(text)).toBe(text.replace(secret, "[redacted]"))
    expect(one(`a\n${text}\nb`)).not.toContain(secret)
  })

  test.each(forms)("%s, in JSON", (_, text, secret) => {
    expect(one(JSON.stringify({ text }))).not.toContain(escaped(secret))
  })

  test("masks all cookies of a list, and both halves of a login", () => {
    expect(one(`"set-cookie": [\n  "a=1",\n  "sid=${token}"\n]`)).toBe(
      `"set-cookie": [\n  "[redacted]",\n  "[redacted]"\n]`,
    )
    expect(one(`https://${token}:x-oauth-basic@github.com/a`)).toBe(
      "https://[redacted]:[redacted]@github.com/a",
    )
  })
})

describe("a text that only looks like a secret stays", () => {
  test.each(stays)("%s", (text) => {
    expect(one(text)).toBe(text)
  })
})

describe("a private key that was cut off", () => {
  const line = (at: number) => `MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDZ${at}abcdefghijk`
  const dashes = "-".repeat(5)
  const cut = [`${dashes}BEGIN PRIVATE KEY${dashes}`, ...[1, 2, 3, 4, 5, 6].map(line), "Zm9vYmFyMQ=="].join(
    "\n",
  )

  test.each<[what: string, text: string]>([
    ["in JSON", escaped(cut)],
    ["in JSON in JSON", escaped(escaped(cut))],
    ["in a frame", cut.replaceAll("\n", "\n│ ")],
    ["in colours", cut.replaceAll("\n", "\u001b[0m\n\u001b[32m")],
    ["in a log", cut.replace(/\n/g, () => "\n2024-05-01T10:00:07Z ")],
    ["with ends of lines", cut.replaceAll("\n", "$\n")],
    ["in HTML", cut.replaceAll("\n", "<br>\n")],
    ["in code", cut.replaceAll("\n", '\\n" +\n  "')],
    ["in comments", cut.replaceAll("\n", "\n# ")],
    ["as grep shows it", cut.replaceAll("\n", "\nkey.pem-")],
    [
      "with headers, in a frame",
      cut.replace("\n", "\nProc-Type: 4\nDEK-Info: A\n\n").replaceAll("\n", "\n│ "),
    ],
  ])("%s", (_, text) => {
    const shown = one(`a\n${text}\nThe rest stays.`)
    expect(shown).toMatch(/^a\n\[redacted\].{0,12}\n?The rest stays\.$/)
  })

  test("masks nothing after the key", () => {
    const text = `${dashes}BEGIN PRIVATE KEY${dashes}\` is how it begins.\nThen:\n/home/jane/work/application/src/server/share/files`
    expect(one(text)).toBe(text.replace(/^.*KEY-----/, "[redacted]"))
    const certificate = `${dashes}BEGIN CERTIFICATE${dashes}\n${line(1)}\n`
    expect(one(`${cut}\n${certificate}`)).toBe(`[redacted]${certificate}`)
  })
})

describe("directories of the machine", () => {
  const maskPaths = createSharedMask({
    values: [],
    paths: [
      { path: "/home/alice/proj", text: "." },
      { path: "/root", text: "~" },
    ],
  })

  test.each([
    ["\\/home\\/alice\\/proj\\/a", ".\\/a"],
    ["?path=%2fhome%2falice%2fproj%2fa", "?path=.%2fa"],
    ["\u001b[34m/root/x\u001b[0m", "\u001b[34m~/x\u001b[0m"],
    ["a\\n/root/x", "a\\n~/x"],
    ['"\\/root\\/x"', '"~\\/x"'],
    ["https:\\/\\/a.example\\/root\\/x", "https:\\/\\/a.example\\/root\\/x"],
    ["src/root/x", "src/root/x"],
  ])("%s", (text, shown) => {
    expect(maskPaths([text])).toEqual([shown])
  })
})

describe("the time is linear in the length of a text", () => {
  const million = 1_000_000
  const run = "aB3dE5fGh7JkL9mNpQ2rStU4vWxYz6aB3dE5fGh7JkL9mN"

  // Processor time, with a margin for a slow machine: a pattern that is not linear takes minutes.
  test.each([
    'password=a"',
    `password=a${"\"a'a".repeat(20)}`,
    "password=a\\b",
    `password${" ".repeat(40)}`,
    `password:${"\u00a0".repeat(40)}`,
    'password\\\\\\"',
    "password=foo(",
    "password=foo(a, ",
    "password=<a",
    "password: /aB/cD",
    "password:Some(",
    "密码：“",
    "authorization: a ",
    'authorization:["',
    'cookie: ["a=b", ',
    'document.cookie="a=b',
    "curl '-u a:b",
    " -b a=b",
    "--token \\\n",
    '--token","',
    ":\\/\\/a",
    "<password a>aaaa",
    ' name="password">aaaaaaaa',
    "│ password │ a",
    "machine a login a account a ",
    "-----BEGIN PRIVATE KEY-----$\n",
    `-----BEGIN PRIVATE KEY-----\n│ ${run}\n`,
    "-----BEGIN PRIVATE KEY-----\\\\\\\\",
    `│ ${run}\n`,
    "\u001b[0m",
  ])("a million units of %j are masked quickly", (piece) => {
    const before = process.cpuUsage()
    mask([piece.repeat(Math.ceil(million / piece.length))])
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(4000)
  })
})
