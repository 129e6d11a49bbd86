/**
 * Programs and their options with a password. `-p`: the next word, or the rest of the word; `-p_`: the next word only;
 * `-p*`: the rest of the word only; `-u:`: the part of the next word behind the sign; `/p:*`: the rest of the word;
 * `word_`: the next word behind this word. With `needs`, only if the command also has that word.
 */
const programs: readonly [names: string, options: string, needs?: string][] = [
  [
    "mysql mysqldump mysqlimport mysqlcheck mysqlshow mysqlpump mysqlsh mysqlslap mysqlbinlog mariadb mariadb-dump mariadb-admin mycli",
    "-p*",
  ],
  ["mysqladmin", "-p* password_"],
  ["redis-cli valkey-cli keydb-cli redis-benchmark", "-a_ --pass_ requirepass_ masterauth_ AUTH_"],
  ["sshpass", "-p"],
  ["ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldapmodrdn ldapcompare ldapexop", "-w"],
  ["ldappasswd", "-w -s -a"],
  ["mongosh mongo mongodump mongorestore mongoexport mongoimport mongostat mongotop mongofiles", "-p_"],
  ["openssl", "-k_ -pass:_ -passin:_ -passout:_ -password:_ -passcert:_"],
  ["apksigner", "--ks-pass:_ --key-pass:_"],
  ["curl", "--proxy-user: -U: --user: -u: --oauth2-bearer_ --pass_ --tlspassword_ --proxy-pass_"],
  ["http https xh httpie", "-a: --auth:"],
  ["etcdctl", "--user:"],
  ["skopeo buildah crane regctl", "--creds: --src-creds: --dest-creds:"],
  ["lftp", "-u,"],
  ["ab hey", "-A: -a:"],
  ["smbclient rpcclient smbget smbcacls smbcquotas wmic-client winexe net.samba", "-U% --user%"],
  [
    "smbmap crackmapexec cme netexec nxc evil-winrm hydra medusa rdesktop cqlsh ncftp ncftpput ncftpget rabbitmqadmin psexec psexec.exe",
    "-p_",
  ],
  ["plink pscp psftp putty kitty mqtt", "-pw_"],
  ["xfreerdp xfreerdp3 wfreerdp sdl-freerdp wlfreerdp freerdp", "/p:* /gp:* /pth:*"],
  ["cmdkey wmic winscp", "/pass:* /password:* /password=*"],
  ["schtasks", "/rp_ /p_"],
  ["sqlcmd osql bcp tsql isql", "-P"],
  ["mosquitto_pub mosquitto_sub mosquitto_rr", "-P_ --pw_"],
  ["unzip zip zipcloak funzip zipnote", "-P"],
  ["7z 7za 7zr 7zz rar unrar", "-p* -hp*"],
  ["ipmitool", "-P"],
  ["snmpwalk snmpget snmpset snmpbulkwalk snmpbulkget snmptrap snmpgetnext", "-A_ -X_"],
  ["docker podman nerdctl helm oras az cf oc kubectl nuget", "-p_", "login"],
  ["ssh-keygen", "-N_ -P_"],
  ["security", "-p_ -w_ -k_"],
  ["x11vnc", "-passwd_ -viewpasswd_"],
  ["nmcli", "password_ wifi-sec.psk_ 802-11-wireless-security.psk_"],
  ["pdftk", "input_pw_ user_pw_ owner_pw_"],
  ["rclone", "obscure_ pass_ password_"],
  ["db2", "using_"],
  ["ansible-vault", "encrypt_string_"],
  ["gbak gfix isql-fb gsec", "-pas_ -password_ -pw_"],
  ["jenkins-cli jenkins-cli.jar", "-auth:"],
  ["flyway liquibase", "-password=* --password=*"],
  [
    "htpasswd mosquitto_passwd sqlplus exp imp expdp impdp sqlldr rman rabbitmqctl net cf vault wpa_passphrase",
    "",
  ],
]

export interface Option {
  name: string
  /** `word`: the next word; `rest`: the rest of the word; `both`; or the sign before the password. */
  kind: "word" | "rest" | "both" | ":" | "," | "%" | "pass"
  needs: string | undefined
}

/** The options with a password of each program. */
export const optionsOf = new Map<string, Option[]>()
for (const [names, options, needs] of programs) {
  const all = options
    .split(" ")
    .filter(Boolean)
    .map((text) => optionOf(text, needs))
  for (const name of names.split(" ")) optionsOf.set(name, [...(optionsOf.get(name) ?? []), ...all])
}

function optionOf(text: string, needs: string | undefined): Option {
  const name = text.replace(/(?::_|[_*:,%])$/, "")
  if (text.endsWith(":_")) return { name, kind: "pass", needs }
  if (text.endsWith("_")) return { name, kind: "word", needs }
  if (text.endsWith("*")) return { name: text.slice(0, -1), kind: "rest", needs }
  const sign = /[:,%]$/.exec(text)?.[0] as ":" | "," | "%" | undefined
  return { name, kind: sign ?? "both", needs }
}
