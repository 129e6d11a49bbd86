/**
 * Names of files with secrets, in any directory. In a pattern `*` also matches `/`. A backup beside the file, such as
 * `.netrc.bak`, has the same secrets.
 */
const dotNames = [
  // Logins of programs.
  ".netrc",
  ".npmrc",
  ".yarnrc.yml",
  ".pypirc",
  ".pgpass",
  ".pg_service.conf",
  ".my.cnf",
  ".mylogin.cnf",
  ".htpasswd",
  ".htdigest",
  ".git-credentials",
  ".smbcredentials",
  ".dockercfg",
  ".dockerconfigjson",
  ".s3cfg",
  ".boto",
  ".passwd-s3fs",
  ".terraformrc",
  ".databrickscfg",
  ".vault-token",
  ".vault_pass",
  ".credentials.json",
  // Histories of shells and of prompts: passwords are typed there.
  ".bash_history",
  ".zsh_history",
  ".zhistory",
  ".sh_history",
  ".ash_history",
  ".ksh_history",
  ".histfile",
  ".python_history",
  ".node_repl_history",
  ".irb_history",
  ".pry_history",
  ".php_history",
  ".psql_history",
  ".mysql_history",
  ".mariadb_history",
  ".sqlite_history",
  ".rediscli_history",
  ".dbshell",
  ".viminfo",
]

/** Directories of programs that keep their logins there, and single files in them. */
const dotDirectories = [
  ".ssh/*",
  ".aws/*",
  ".gnupg/*",
  ".azure/*",
  ".oci/*",
  ".tccli/*",
  ".aliyun/*",
  ".kube/*",
  ".docker/config.json",
  ".cargo/credentials*",
  ".terraform.d/*",
  ".gem/credentials*",
  ".m2/settings*.xml",
  ".gradle/gradle.properties",
  ".fly/config.yml",
  ".op/*",
  ".password-store/*",
  ".config/gcloud/*",
  ".config/gh/hosts.yml",
  ".config/hub",
  ".config/glab-cli/*",
  ".config/doctl/*",
  ".config/op/*",
  ".config/rclone/*",
  ".config/github-copilot/*",
  ".config/stripe/*",
  ".config/sops/*",
  ".local/share/keyrings/*",
  "/etc/shadow*",
  "/etc/gshadow*",
]

/** Names that begin with a letter: only whole names count, because `src/token.json.ts` is code. */
const plainNames = [
  ".env*",
  // Swap files of Vim.
  "..env*",
  "id_rsa*",
  "id_dsa*",
  "id_ecdsa*",
  "id_ed25519*",
  "_netrc",
  "credentials",
  "credentials.toml",
  "credentials.csv",
  "secrets.json",
  "secrets.yml",
  "secrets.yaml",
  "secrets.toml",
  "auth.json",
  "token.json",
  "client_secret*.json",
  "service-account*.json",
  "service_account*.json",
  "serviceAccount*.json",
  "kubeconfig",
  "kubeconfig.yml",
  "kubeconfig.yaml",
  "rclone.conf",
  "wg?.conf",
  "fish_history",
  "ConsoleHost_history.txt",
  // Files that an editor saves by itself, of any file.
  "#*#",
  ".#*",
]

const endings = ["env", "pem", "key", "p12", "pfx", "ppk", "jks", "keystore", "kdbx"]
const backups = ["bak", "old", "orig"]

const secretEndings = [
  ...endings.flatMap((ending) => [`*.${ending}`, ...backups.map((backup) => `*.${ending}.${backup}`)]),
  "*.p8",
  "*.keytab",
  "*.jceks",
  "*.agekey",
  "*.ovpn",
  "*.kubeconfig",
  "*.tfvars",
  "*.tfvars.json",
  "*.tfstate",
  "*.tfstate.*",
  "*credentials.json",
  "*adminsdk*.json",
  "*accessKeys.csv",
  // Files that an editor saves by itself, of any file.
  "*~",
  "*.swp",
  "*.swo",
  "*.swn",
]

/** The patterns for a name in the session's directory and below it. */
export const anywhere = (name: string): string[] => [name, `*/${name}`]

/** Patterns of files that a model may read only with a person's permission. */
export const secretPatterns: readonly string[] = [
  ...dotNames.map((name) => `*${name}*`),
  ...dotDirectories.map((name) => `*${name}`),
  ...plainNames.flatMap(anywhere),
  ...secretEndings,
]
