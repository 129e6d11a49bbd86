import type { Planted, SecretSource } from "./secret-source.ts"

type Line = (password: string) => string

const sql: Line[] = [
  (p) => `CREATE USER 'app'@'%' IDENTIFIED BY '${p}';`,
  (p) => `alter user app identified by '${p}'`,
  (p) => `CREATE USER app IDENTIFIED WITH mysql_native_password BY '${p}';`,
  (p) => `GRANT ALL ON shop.* TO 'app'@'localhost' IDENTIFIED BY '${p}' WITH GRANT OPTION;`,
  (p) => `ALTER USER scott IDENTIFIED BY "${p}";`,
  (p) => `CREATE ROLE app WITH LOGIN PASSWORD '${p}';`,
  (p) => `ALTER ROLE app WITH ENCRYPTED PASSWORD '${p}';`,
  (p) => `ALTER USER postgres PASSWORD '${p}';`,
  (p) => `create user app with password '${p}' valid until 'infinity';`,
  (p) => `CREATE LOGIN app WITH PASSWORD = '${p}';`,
  (p) => `ALTER LOGIN sa WITH PASSWORD = N'${p}' OLD_PASSWORD = 'x';`,
  (p) => `SET PASSWORD FOR 'root'@'localhost' = PASSWORD('${p}');`,
  (p) => `SET PASSWORD = '${p}';`,
  (p) => `UPDATE users SET password = '${p}' WHERE id = 1;`,
  (p) => `UPDATE users SET password = crypt('${p}', gen_salt('bf')) WHERE id = 1;`,
  (p) => `INSERT INTO users (name, password, age) VALUES ('jane', '${p}', 30);`,
  (p) => `INSERT INTO users (id, email, passwd) VALUES (1, 'a@b.c', MD5('${p}'));`,
  (p) => `SELECT * FROM users WHERE name = 'jane' AND password = '${p}'`,
  (p) => `CREATE DATABASE LINK a CONNECT TO b IDENTIFIED BY "${p}" USING 'c';`,
  (p) => `db.createUser({ user: "app", pwd: "${p}", roles: [] })`,
  (p) => `db.auth("app", "${p}")`,
  (p) => `db.changeUserPassword("app", "${p}")`,
  (p) => `ACL SETUSER jane on >${p} ~* +@all`,
  (p) => `CREATE MASTER KEY ENCRYPTION BY PASSWORD = '${p}';`,
  (p) => `SELECT dblink_connect('host=db user=app password=${p}');`,
]

export function plantedSql(s: SecretSource): Planted[] {
  return sql.flatMap((line, at) => {
    const password = s.password()
    const letters = s.letters()
    const text = line(password)
    return [
      { text: at % 2 ? text : JSON.stringify({ sql: text }), secret: password },
      { text: line(letters), secret: letters },
    ]
  })
}

const salt = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

export function plantedHashes(s: SecretSource): Planted[] {
  const b64 = (bytes: number) => s.base64(bytes).replace(/=+$/, "")
  const upperHex = (length: number) => s.hex(length).toUpperCase()
  const hashes: [text: (hash: string) => string, hash: string][] = [
    [(h) => `jane:${h}:19700:0:99999:7:::`, `$6$${s.from(salt, 16)}$${s.from(salt, 86)}`],
    [(h) => `root:${h}:19700:0:99999:7:::`, `$6$rounds=5000$${s.from(salt, 8)}$${s.from(salt, 86)}`],
    [(h) => `jane:${h}:19700:0:99999:7:::`, `$y$j9T$${s.from(salt, 22)}$${s.from(salt, 43)}`],
    [(h) => `jane:${h}:19000:0:99999:7:::`, `$5$${s.from(salt, 16)}$${s.from(salt, 43)}`],
    [(h) => `old:${h}:17000:0:99999:7:::`, `$1$${s.from(salt, 8)}$${s.from(salt, 22)}`],
    [(h) => `jane:${h}:17000:0:99999:7:::`, s.from(salt, 13)],
    [(h) => `jane:${h}`, `$apr1$${s.from(salt, 8)}$${s.from(salt, 22)}`],
    [(h) => `jane:${h}`, `$2y$10$${s.from(salt, 53)}`],
    [(h) => `admin:{SHA}${h}`, s.base64(20)],
    [(h) => `The hash is ${h} as expected.`, `$2b$12$${s.from(salt, 53)}`],
    [(h) => `"hash": "${h}"`, `$2a$10$${s.from(salt, 53)}`],
    [(h) => `(1, 'jane', '${h}')`, `$argon2id$v=19$m=65536,t=3,p=4$${b64(16)}$${b64(32)}`],
    [(h) => `stored ${h}`, `$argon2i$v=19$m=4096,t=3,p=1$${b64(12)}$${b64(32)}`],
    [(h) => `stored ${h}`, `$scrypt$ln=16,r=8,p=1$${b64(16)}$${b64(32)}`],
    [(h) => `werkzeug: ${h}`, `scrypt:32768:8:1$${s.word(16)}$${s.hex(128)}`],
    [(h) => `flask: ${h}`, `pbkdf2:sha256:260000$${s.word(16)}$${s.hex(64)}`],
    [(h) => `django: ${h}`, `pbkdf2_sha256$260000$${s.word(22)}$${s.base64(32)}`],
    [(h) => `wordpress ${h}`, `$P$B${s.from(salt, 30)}`],
    [(h) => `drupal ${h}`, `$S$D${s.from(salt, 51)}`],
    [(h) => `userPassword: {SSHA}${h}`, s.base64(28)],
    [(h) => `userPassword: {CRYPT}${h}`, `$6$${s.from(salt, 8)}$${s.from(salt, 86)}`],
    [(h) => `userPassword:: ${h}`, Buffer.from(`{SSHA}${s.base64(28)}`).toString("base64")],
    [(h) => `'root'@'localhost' '${h}'`, `*${upperHex(40)}`],
    [(h) => `rolpassword | ${h}`, `SCRAM-SHA-256$4096:${s.base64(16)}$${s.base64(32)}:${s.base64(32)}`],
    [(h) => `CREATE ROLE app PASSWORD '${h}'`, `md5${s.hex(32)}`],
    [(h) => `Administrator:500:aad3b435b51404eeaad3b435b51404ee:${h}:::`, s.hex(32)],
    [(h) => `jane::CORP:${s.hex(16)}:${h}`, `${s.hex(32)}:${s.hex(80)}`],
    [(h) => h, `$krb5tgs$23$*svc$CORP$a*$${s.hex(32)}$${s.hex(200)}`],
    [(h) => `enable secret 5 ${h}`, `$1$${s.from(salt, 4)}$${s.from(salt, 22)}`],
    [(h) => `username jane password 7 ${h}`, upperHex(18)],
    [(h) => `enable secret 9 ${h}`, `$9$${s.from(salt, 14)}$${s.from(salt, 43)}`],
    [(h) => `password_pbkdf2 root ${h}`, `grub.pbkdf2.sha512.10000.${upperHex(128)}.${upperHex(128)}`],
    [(h) => `jane:realm:${h}`, s.hex(32)],
    [(h) => `password_hash: ${h}`, s.hex(64)],
    [(h) => `"passwordHash": "${h}"`, s.hex(40)],
    [(h) => `pwd_hash=${h}`, s.hex(32)],
  ]
  return hashes.map(([text, hash]) => ({ text: text(hash), secret: hash }))
}

const forms: Line[] = [
  (p) => `<input type="password" name="pw" value="${p}">`,
  (p) => `<input value="${p}" id="x" type="password"/>`,
  (p) => `<input type='password' class='a' value='${p}' required>`,
  (p) => `<input type=password value="${p}">`,
  (p) => `<input name="user_password" value="${p}" type="hidden">`,
  (p) => `<input type="hidden" name="api_secret" value="${p}9xQ2">`,
  (p) => `<Input type="password" defaultValue="${p}" />`,
  (p) => `<input\n  type="password"\n  name="pw"\n  value="${p}"\n/>`,
  (p) => `<textarea name="password">${p}</textarea>`,
  (p) => `<add name="db" connectionString="Server=a;Database=b;User Id=sa;Password=${p};" />`,
  (p) => `<connection host="db" username="app" password="${p}"/>`,
  (p) => `$password = '${p}';`,
  (p) => `$db_pass = "${p}";`,
  (p) => `define('DB_PASSWORD', '${p}');`,
  (p) => `define( "AUTH_KEY", "${p}x7Yz" );`,
  (p) => `'password' => '${p}',`,
  (p) => `'password' => env('DB_PASSWORD', '${p}'),`,
  (p) => `$pdo = new PDO('mysql:host=db;dbname=a', 'app', '${p}');`,
  (p) => `$c = mysqli_connect("db", "app", "${p}", "shop");`,
  (p) => `$c = new mysqli('db', 'app', '${p}', 'shop');`,
  (p) => `ftp_login($c, 'jane', '${p}');`,
  (p) => `ldap_bind($c, 'cn=admin', '${p}');`,
  (p) => `curl_setopt($c, CURLOPT_USERPWD, "jane:${p}");`,
  (p) => `DriverManager.getConnection("jdbc:a:b", "sa", "${p}");`,
  (p) => `smtp.login("jane@example.org", "${p}")`,
  (p) => `requests.get(url, auth=("jane", "${p}"))`,
  (p) => `new NetworkCredential("jane", "${p}")`,
  (p) => `putenv("DB_PASSWORD=${p}");`,
  (p) => `System.setProperty("javax.net.ssl.keyStorePassword", "${p}");`,
  (p) => `os.environ.setdefault("SMTP_PASSWORD", "${p}")`,
  (p) => `await page.fill('#password', '${p}')`,
  (p) => `cy.get('input[type=password]').type('${p}')`,
  (p) => `driver.find_element(By.ID, "password").send_keys("${p}")`,
  (p) => `await page.getByLabel('Password').fill('${p}')`,
]

export function plantedForms(s: SecretSource): Planted[] {
  return forms.flatMap((line, at) => {
    const password = s.password()
    const letters = s.letters()
    const text = line(password)
    return [
      { text: at % 3 === 0 ? JSON.stringify({ content: text }) : text, secret: password },
      { text: line(letters), secret: letters },
    ]
  })
}

const tables: Line[] = [
  (p) => `| user | password |\n|---|---|\n| jane | ${p} |`,
  (p) =>
    `| Service | Login | Password | Note |\n| --- | --- | --- | --- |\n| db | app | ${p} | main |\n| web | x | | |`,
  (p) => `| 用户 | 密码 | 备注 |\n|------|------|------|\n| 张三 | ${p} | 管理员 |`,
  (p) => `| 系统 | 账号 | 口令 |\n|:--|:--:|--:|\n| 邮箱 | jane | \`${p}\` |`,
  (p) => `user,password,host\njane,${p},db\n`,
  (p) => `"user","password"\n"jane","${p}"\n`,
  (p) => `host;login;passwd\ndb;jane;${p}`,
  (p) => `user\tpassword\njane\t${p}`,
  (p) =>
    `+------+----------------+\n| user | password       |\n+------+----------------+\n| jane | ${p} |\n+------+----------------+`,
  (p) => ` usename | passwd\n---------+--------\n app     | ${p}\n(1 row)`,
  (p) => `USER     PASSWORD          HOST\njane     ${p}   db\n`,
  (p) =>
    `┌──────┬──────────┐\n│ user │ password │\n├──────┼──────────┤\n│ jane │ ${p} │\n└──────┴──────────┘`,
  (p) => `<table><tr><th>User</th><th>Password</th></tr><tr><td>jane</td><td>${p}</td></tr></table>`,
  (p) => `| Password | User |\n|---|---|\n| ${p} | jane |\n| other | x |`,
  (p) => `| Setting | Value |\n|---|---|\n| SMTP password | ${p} |`,
  (p) => `| 项目 | 值 |\n|---|---|\n| 数据库密码 | ${p} |`,
  (p) => `名称,密码\n数据库,${p}`,
  (p) => `name,value\ndb_password,${p}`,
]

const keyTables: Line[] = [
  (k) => `| Service | API key |\n|---|---|\n| maps | ${k} |`,
  (k) => `| env | token |\n|---|---|\n| prod | \`${k}\` |`,
  (k) => `service,secret\nmaps,${k}`,
  (k) => `| 服务 | 密钥 |\n|---|---|\n| 地图 | ${k} |`,
  (k) => `NAME     TOKEN\nprod     ${k}`,
  (k) => `client_id\tclient_secret\nabc\t${k}`,
]

export function plantedTables(s: SecretSource): Planted[] {
  const passwords = tables.flatMap((table, at) => {
    const password = s.password().replaceAll(/[,;|]/g, "")
    const letters = s.letters()
    const text = table(password)
    return [
      { text: at % 4 === 3 ? JSON.stringify({ output: text }) : text, secret: password },
      { text: table(letters), secret: letters },
    ]
  })
  const keys = keyTables.flatMap((table) =>
    [s.word(18), s.hex(32)].map((key) => ({ text: table(key), secret: key })),
  )
  return [...passwords, ...keys]
}
