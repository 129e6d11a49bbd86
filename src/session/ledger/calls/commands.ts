import { visibleLine } from "../../text/visible-text.ts"
import { rememberLast } from "../last-result.ts"
import { namesIn } from "../names.ts"
import { outcomes } from "../sentences/cues.ts"
import { shorten } from "../sentences/prose.ts"

const programs =
  "npm|npx|pnpm|yarn|bun|deno|node|tsx|tsc|vite|vitest|jest|mocha|playwright|cypress|eslint|biome|prettier|webpack|rollup|esbuild|turbo|nx|lerna|git|gh|glab|hub|svn|hg|cargo|rustc|rustup|go|gofmt|golangci-lint|python3?|pip3?|pipx|uv|uvx|poetry|pdm|conda|pytest|tox|nox|ruff|mypy|pyright|black|flake8|alembic|django-admin|flask|celery|make|cmake|ctest|ninja|bazel|buck|meson|gcc|g\\+\\+|clang|docker|docker-compose|podman|kubectl|helm|kustomize|minikube|terraform|tofu|pulumi|ansible|ansible-playbook|vagrant|packer|psql|pg_dump|pg_restore|mysql|mysqldump|sqlite3|redis-cli|mongosh|prisma|drizzle-kit|knex|flyway|liquibase|curl|wget|ssh|scp|rsync|nc|dig|ping|mvn|gradle|gradlew|java|javac|kotlinc|sbt|dotnet|msbuild|nuget|swift|xcodebuild|pod|fastlane|flutter|dart|rails|rake|bundle|rspec|ruby|gem|rubocop|composer|php|artisan|phpunit|mix|elixir|cabal|ghc|lua|perl|bash|sh|zsh|sudo|systemctl|journalctl|nginx|caddy|pm2|aws|gcloud|az|doctl|heroku|vercel|netlify|flyctl|wrangler|sam|cdk|serverless|act|k6|ab|wrk|locust|shellcheck|hadolint|trivy|snyk|sops|openssl|gpg|jq|sed|awk|tar|unzip|chmod|chown|brew|apt|apt-get|dnf|yum|apk|ffmpeg|lighthouse|storybook|changeset|semantic-release|husky|pre-commit|just|task|mise|asdf|nvm|hatch|buf|protoc|sqlc|goose|atlas|dbt|airflow|spark-submit"
const bareCommand = new RegExp(`(?:^|[^\\w./-])((?:${programs}) [!-~]+|\\./[\\w-][\\w./-]*(?= ))`, "g")
const quotedCommand = new RegExp(
  `^(?:\\$ |[A-Z_]+=\\S+ )*(?:(?:${programs})(?= |$)|\\.{0,2}/?[\\w./-]+ +-{1,2}[a-z]|\\./[\\w./-]+|[\\w./-]+\\.sh\\b)`,
)
/** Words that follow a program's name in a command, and rarely in a sentence. */
const argument =
  /^\S+ (?:-{1,2}\w|\.{0,2}\/|\S*[/:=@_]|\S+\.\w|(?:run|test|tests|build|install|ci|add|remove|exec|start|stop|restart|up|down|ps|logs|lint|check|fmt|format|clippy|vet|publish|deploy|apply|plan|destroy|init|migrate|upgrade|downgrade|generate|push|pull|fetch|merge|rebase|commit|checkout|switch|stash|clone|reset|revert|tag|cherry-pick|bisect|status|diff|log|show|rollout|get|describe|delete|create|scale|compose|audit|outdated|update|pack|version|dev|watch|serve|typecheck|bench|coverage|sync|lock|pr|issue|release|repo|workflow|package|verify|clean|compile|all|doctor|db:\w+)\b)/

/** Whether a sentence mentions a command: one in backticks, or a program name followed by a typical argument. */
export const mentionsCommand: (sentence: string) => boolean = rememberLast(findCommand)

function findCommand(sentence: string): boolean {
  for (const [, quoted] of sentence.matchAll(/`([^`]{2,200})`/g)) if (quotedCommand.test(quoted!)) return true
  for (const [, bare] of sentence.matchAll(bareCommand)) {
    if (bare!.startsWith("./") || argument.test(bare!)) return true
  }
  return false
}

/** Whether the command that a sentence quotes only reads. */
export function mentionsReadOnlyCommand(sentence: string): boolean {
  return [...sentence.matchAll(/`([^`]{2,200})`/g)].some(([, quoted]) => exploring.test(quoted!))
}

export function mentionsOutcome(sentence: string): boolean {
  const rest = sentence.replace(/`[^`]*`/g, " ")
  return outcomes.test(rest) || /\d/.test(rest)
}

const commandLengthMax = 160
const failedLengthMax = 90
const okLengthMax = 60
const wholeOutputMax = 140

export interface CommandRun {
  command: string
  outcome: string
  failed: boolean
}

export interface ShellEnd {
  exit?: number
  output: string
  failed: boolean
  timedOut: boolean
}

/** A command as it was given, on one line, with its outcome. */
export function commandRun(command: string, end: ShellEnd): CommandRun {
  const failed = end.failed || end.timedOut || (end.exit !== undefined && end.exit !== 0)
  const telling = outcomeLine(innerOutput(end.output), { failed })
  const code = end.timedOut ? "timed out" : failed ? (end.exit ? `failed, exit ${end.exit}` : "failed") : "ok"
  return {
    command: shorten(commandLine(command), commandLengthMax),
    outcome: telling === "" ? code : `${code}: ${telling}`,
    failed,
  }
}

/** Leaves out the heredoc text that is fed to the command, and joins continued lines. */
function commandLine(command: string): string {
  const head = command.slice(0, 4_000)
  const heredoc = head.search(/<<-?\s?["']?\w/)
  const end = heredoc < 0 ? -1 : head.indexOf("\n", heredoc)
  return visibleLine((end < 0 ? head : `${head.slice(0, end)} …`).replace(/\\\n/g, " "))
}

const ending =
  /^(?:(?:exit|exited with) (?:code|status):? -?\d+|exit:? \d+|ended by SIG\w+|\(no output\)|command (?:executed\.?|output:?)|output:|The command was (?:ended|aborted).*)$/i
const failure =
  /error|fail|fatal|exception|panic|cannot|can't|could not|not found|denied|refused|undefined|unknown|invalid|timed? ?out|✗|✖|×|错误|失败|异常|无法/i
const result =
  /pass|success|succeed|complete|finish|built|done|ok\b|up to date|no (?:issues|errors|problems|changes)|\d+ (?:tests?|files?|packages?|modules?|errors?|warnings?)|✓|✔|通过|成功|完成/i
/** A success message with a count. */
const counted =
  /\d+ \w* ?(?:pass\w*|tests?|specs?|files?|packages?|modules?|errors?|warnings?|problems?|changes?)|\b(?:built|success\w*|finished|up to date|complete[d!]?)\b|[个条项].{0,4}通过|成功|完成/i

/** Some tools wrap a command's output in a JSON object. */
function innerOutput(output: string): string {
  if (!output.startsWith("{") || output.length > 20_000) return output
  try {
    const value: unknown = JSON.parse(output)
    const inner =
      typeof value === "object" && value !== null ? (value as { output?: unknown }).output : undefined
    return typeof inner === "string" ? inner : output
  } catch {
    return output
  }
}

/**
 * The part of an output that says how the command ended: all of a short output that contains a name, else one of the
 * last lines.
 */
function outcomeLine(output: string, { failed }: { failed: boolean }): string {
  const lines = output
    .slice(-6_000)
    .split("\n")
    .slice(-60)
    .map((line) => visibleLine(line.slice(0, 400)))
    .filter((line) => /[\p{L}\p{N}]/u.test(line) && !ending.test(line))
  const whole = output.length <= wholeOutputMax ? lines.join(" | ") : ""
  if (whole !== "" && namesIn(whole).some(({ rank }) => rank >= 54)) return whole
  const last = lines.at(-1) ?? ""
  if (!failed) return shorten(lines.findLast((line) => counted.test(line)) ?? "", okLengthMax)
  const telling = lines.find((line) => failure.test(line)) ?? last
  if (telling === last || !(result.test(last) || failure.test(last))) return shorten(telling, failedLengthMax)
  return `${shorten(telling, failedLengthMax)} … ${shorten(last, okLengthMax)}`
}

const exploring =
  /^(?:cd [^&;]+(?:&&|;) ?)?(?:ls|cat|head|tail|pwd|echo|which|file|wc|tree|find|fd|grep|rg|ag|sed -n|awk|stat|du|df|env|printenv|whoami|date|ps|git (?:status|log|diff|show|branch|blame|remote|rev-parse|ls-files)|less|jq|type|man)\b/
/** The changed files already say what these commands do. */
const filing =
  /^(?:git (?:mv|rm|add|checkout|restore|stash)|mv|cp|rm|mkdir|touch|chmod|sed -i|perl -p?i|cat >|tee|cd)\b/
const checking =
  /\b(?:test|tests|spec|vitest|jest|pytest|build|lint|check|tsc|compile|migrat\w*|deploy|commit|push|merge|rebase|tag|install|add|publish|release|up|apply|run|start|restart|create|exec|make|cargo|go|mvn|gradle)\b/

/** Tests, builds, commits and failures matter most; a command that only reads matters least. */
export function commandRunRank({ command, failed }: CommandRun): number {
  if (exploring.test(command)) return failed ? 30 : 10
  if (!failed && filing.test(command)) return 30
  if (failed) return 74
  return checking.test(command) ? 66 : 54
}
