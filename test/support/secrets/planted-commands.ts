import type { Planted, SecretSource } from "./secret-source.ts"

type Line = (password: string) => string

/** Commands whose password may be any text, with or without quotes. */
const lines: Line[] = [
  (p) => `mysql -u root -p'${p}' shop`,
  (p) => `mysqldump -uapp -p"${p}" shop > dump.sql`,
  (p) => `mariadb -h db --password='${p}' shop`,
  (p) => `mysqladmin -u root password '${p}'`,
  (p) => `PGPASSWORD='${p}' psql -h db -U app -p 5432 shop`,
  (p) => `redis-cli -h cache -p 6379 -a '${p}' ping`,
  (p) => `redis-cli --pass '${p}' info`,
  (p) => `redis-cli CONFIG SET requirepass '${p}'`,
  (p) => `sshpass -p '${p}' ssh -p 22 jane@host`,
  (p) => `sshpass -p'${p}' scp a host:b`,
  (p) => `ldapsearch -x -H ldap://dc -D cn=admin -w '${p}' -b dc=a`,
  (p) => `ldappasswd -D cn=admin -w '${p}' -s new1 uid=jane`,
  (p) => `mongosh --host db -u root -p '${p}' admin`,
  (p) => `mongodump -u root -p "${p}" --out dump`,
  (p) => `openssl enc -aes-256-cbc -pass pass:'${p}' -in a -out b`,
  (p) => `openssl pkcs12 -in a.p12 -passin 'pass:${p}' -nodes`,
  (p) => `openssl rsa -in a.key -passout "pass:${p}"`,
  (p) => `openssl enc -d -aes256 -k '${p}' -in a`,
  (p) => `curl -u 'jane:${p}' https://api.example.org`,
  (p) => `curl --proxy-user "jane:${p}" https://api.example.org`,
  (p) => `curl --oauth2-bearer '${p}' https://api.example.org`,
  (p) => `wget --http-password='${p}' https://files.example.org`,
  (p) => `htpasswd -b /etc/nginx/.htpasswd jane '${p}'`,
  (p) => `htpasswd -nbB jane '${p}'`,
  (p) => `smbclient //nas/share -U 'jane%${p}'`,
  (p) => `smbclient //nas/share '${p}' -U jane`,
  (p) => `xfreerdp /v:host /u:jane /p:'${p}'`,
  (p) => `xfreerdp3 /v:host /u:jane "/p:${p}" /cert:ignore`,
  (p) => `cmdkey /add:host /user:jane /pass:"${p}"`,
  (p) => `net user jane "${p}" /add`,
  (p) => `net use Z: \\\\nas\\share "${p}" /user:jane`,
  (p) => `plink -ssh jane@host -pw '${p}' uptime`,
  (p) => `rclone obscure '${p}'`,
  (p) => `rclone copy a b: --sftp-pass '${p}'`,
  (p) => `ansible all -m ping -e "ansible_password='${p}'"`,
  (p) => `unzip -P '${p}' backup.zip`,
  (p) => `zip -r -P '${p}' backup.zip docs`,
  (p) => `7z x backup.7z -p'${p}'`,
  (p) => `7za a -p"${p}" -mhe=on backup.7z docs`,
  (p) => `unrar x -p'${p}' backup.rar`,
  (p) => `keytool -list -keystore a.jks -storepass '${p}'`,
  (p) => `keytool -genkeypair -alias a -keypass '${p}' -keystore a.jks`,
  (p) => `jarsigner -storepass '${p}' app.jar alias`,
  (p) => `apksigner sign --ks a.jks --ks-pass pass:'${p}' app.apk`,
  (p) => `sqlcmd -S host -U sa -P '${p}' -Q "select 1"`,
  (p) => `bcp shop.dbo.a out a.txt -S host -U sa -P "${p}"`,
  (p) => `cqlsh host -u cassandra -p '${p}'`,
  (p) => `mosquitto_pub -h host -p 1883 -u jane -P '${p}' -t a -m b`,
  (p) => `mosquitto_sub -h host -u jane -P "${p}" -t '#'`,
  (p) => `docker login -u jane -p '${p}' registry.example.org`,
  (p) => `helm registry login host -u jane -p '${p}'`,
  (p) => `az login --service-principal -u app -p '${p}' --tenant t`,
  (p) => `cf login -a api -u jane -p '${p}'`,
  (p) => `skopeo copy --src-creds 'jane:${p}' docker://a docker://b`,
  (p) => `lftp -u 'jane,${p}' ftp.example.org`,
  (p) => `ipmitool -H host -U admin -P '${p}' power status`,
  (p) => `wpa_passphrase home '${p}'`,
  (p) => `nmcli device wifi connect home password '${p}'`,
  (p) => `gpg --batch --passphrase '${p}' -d a.gpg`,
  (p) => `ssh-keygen -t ed25519 -N '${p}' -f key`,
  (p) => `x11vnc -passwd '${p}' -display :0`,
  (p) => `rabbitmqctl add_user jane '${p}'`,
  (p) => `rabbitmqctl change_password jane '${p}'`,
  (p) => `etcdctl --user 'root:${p}' get a`,
  (p) => `http -a 'jane:${p}' https://api.example.org`,
  (p) => `flyway -url=jdbc:a -user=sa -password='${p}' migrate`,
  (p) => `clickhouse-client --user default --password '${p}' -q 'select 1'`,
  (p) => `influx -username jane -password '${p}'`,
  (p) => `svn checkout https://svn.example.org --username jane --password '${p}'`,
  (p) => `echo '${p}' | sudo -S apt update`,
  (p) => `echo "jane:${p}" | chpasswd`,
  (p) => `echo "${p}" | docker login -u jane --password-stdin`,
  (p) => `kubectl create secret generic db --from-literal=password='${p}'`,
  (p) => `evil-winrm -i host -u admin -p '${p}'`,
  (p) => `snmpwalk -v3 -u jane -l authPriv -a SHA -A '${p}' host`,
  (p) => `vault login -method=userpass username=jane password='${p}'`,
  (p) => `qpdf --password='${p}' --decrypt a.pdf b.pdf`,
  (p) => `pdftk a.pdf input_pw '${p}' output b.pdf`,
  (p) => `nuget sources add -Name a -Username jane -Password '${p}'`,
  (p) => `sudo mysql -u root -p'${p}' -e 'show tables'`,
  (p) => `docker exec db mysql -uroot -p"${p}" -e 'select 1'`,
  (p) => `kubectl exec db-0 -- redis-cli -a '${p}' ping`,
]

/** Commands whose password has no quotes. */
const bareLines: Line[] = [
  (p) => `mysql -uroot -p${p} shop`,
  (p) => `redis-cli -a ${p}`,
  (p) => `sshpass -p ${p} ssh host`,
  (p) => `ldapsearch -x -w ${p} -D cn=admin`,
  (p) => `mongosh -u root -p ${p}`,
  (p) => `openssl enc -aes-256-cbc -pass pass:${p} -in a`,
  (p) => `unzip -P ${p} a.zip`,
  (p) => `7z x -p${p} a.7z`,
  (p) => `sqlcmd -S host -U sa -P ${p}`,
  (p) => `sqlplus system/${p}@//host:1521/XE`,
  (p) => `mosquitto_pub -u jane -P ${p} -t a`,
  (p) => `keytool -list -storepass ${p}`,
  (p) => `htpasswd -bc file jane ${p}`,
  (p) => `xfreerdp /u:jane /p:${p} /v:host`,
  (p) => `docker login -u jane -p ${p}`,
  (p) => `smbclient //nas/share -U jane%${p}`,
  (p) => `curl -u jane:${p} https://a.example`,
  (p) => `java -jar tool.jar -passwd ${p} -user jane`,
  (p) => `tool -pass ${p}`,
  (p) => `exp scott/${p} file=a.dmp`,
]

const places: Line[] = [
  (line) => line,
  (line) => `$ ${line}\nok`,
  (line) => `Run \`${line}\` on the host.`,
  (line) => JSON.stringify({ command: `cd /srv && ${line}`, timeout: 1000 }),
  (line) => `cd /srv; ${line}`,
  (line) => `First:\n\n    ${line}\n\nThen go on.`,
]

export function plantedCommands(s: SecretSource): Planted[] {
  const quoted = lines.flatMap((line, at) => {
    const password = s.password()
    const letters = s.letters()
    return [
      { text: places[at % places.length]!(line(password)), secret: password },
      { text: line(letters), secret: letters },
    ]
  })
  const bare = bareLines.flatMap((line, at) => {
    const password = s.plainPassword()
    const letters = s.letters()
    return [
      { text: places[at % places.length]!(line(password)), secret: password },
      { text: places[(at + 3) % places.length]!(line(letters)), secret: letters },
    ]
  })
  return [...quoted, ...bare]
}
