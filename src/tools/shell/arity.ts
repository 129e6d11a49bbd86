import { shown, type Word } from "./script.ts"

/** How many words name what a command does: `git status`, `docker compose up`. One for all others. */
const arity: Record<string, number> = {
  git: 2,
  "git remote": 3,
  "git stash": 3,
  "git config": 3,
  "git worktree": 3,
  "git submodule": 3,
  "git bisect": 3,
  npm: 2,
  "npm run": 3,
  "npm exec": 3,
  pnpm: 2,
  "pnpm run": 3,
  "pnpm exec": 3,
  "pnpm dlx": 3,
  yarn: 2,
  "yarn run": 3,
  "yarn dlx": 3,
  bun: 2,
  "bun run": 3,
  "bun x": 3,
  npx: 2,
  bunx: 2,
  deno: 2,
  "deno task": 3,
  node: 2,
  python: 2,
  python3: 2,
  ruby: 2,
  perl: 2,
  php: 2,
  uv: 2,
  "uv run": 3,
  "uv pip": 3,
  pip: 2,
  pip3: 2,
  poetry: 2,
  "poetry run": 3,
  cargo: 2,
  rustup: 2,
  go: 2,
  "go mod": 3,
  docker: 2,
  "docker compose": 3,
  "docker container": 3,
  "docker image": 3,
  "docker volume": 3,
  "docker network": 3,
  podman: 2,
  "docker-compose": 2,
  kubectl: 2,
  "kubectl rollout": 3,
  "kubectl config": 3,
  helm: 2,
  terraform: 2,
  aws: 3,
  gcloud: 3,
  az: 3,
  gh: 3,
  brew: 2,
  apt: 2,
  "apt-get": 2,
  dnf: 2,
  systemctl: 2,
  make: 2,
  just: 2,
  gradle: 2,
  mvn: 2,
  dotnet: 2,
  composer: 2,
  bundle: 2,
  "bundle exec": 3,
  rails: 2,
  mix: 2,
  sh: 2,
  bash: 2,
  source: 2,
  ".": 2,
}

/** Text given on the command line is code of which no prefix says what the next one will do. */
const inlineCode = /^(?:(?:-[a-zA-Z]*[ceE]|-p|-r|eval)$|--(?:eval|command|print|call)(?:=|$))/

/**
 * The pattern that `always` would allow for a command: its action and any arguments. Undefined if that would allow
 * code that nobody has seen.
 */
export function alwaysPattern(words: readonly Word[]): string | undefined {
  const texts = words.map(shown)
  const name = texts[0]?.split("/").at(-1)
  if (name === undefined || words[0]?.value === undefined || name === "env") return undefined
  const actions = words
    .map((word, index) => ({ word, index }))
    .filter(({ word, index }) => index === 0 || (word.value !== undefined && !word.value.startsWith("-")))
  const second = actions[1]?.word.value
  const count = arity[`${name} ${second}`] ?? arity[name] ?? 1
  if (codeNames.has(name) && words.some((word) => inlineCode.test(word.value ?? ""))) return undefined
  const last = actions[Math.min(count, actions.length) - 1]
  if (!last || (codeNames.has(name) && actions.length < count)) return undefined
  const prefix = texts.slice(0, last.index + 1).join(" ")
  return /[*?]/.test(prefix) ? undefined : `${prefix} *`
}

const codeNames = new Set(
  "sh bash dash zsh ksh python python3 node deno bun npx bunx perl ruby php source .".split(" "),
)
