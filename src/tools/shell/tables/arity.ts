import { shown, type Word } from "../parse/script.ts"
import { builtinNames } from "./builtins.ts"
import { readerNames } from "./readers.ts"
import { wrapperNames } from "./wrappers.ts"
import { writerNames } from "./writers.ts"

/** How many words name the action of a command: `git status`, `docker compose up`. */
const arity: Record<string, number> = {
  git: 2,
  "git notes": 3,
  "git bundle": 3,
  "git lfs": 3,
  "git sparse-checkout": 3,
  "git maintenance": 3,
  "git reflog": 3,
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
  "deno run": 3,
  node: 2,
  python: 2,
  python3: 2,
  ruby: 2,
  perl: 2,
  php: 2,
  uv: 2,
  "uv run": 3,
  "uv pip": 3,
  "uv tool": 3,
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
  "podman container": 3,
  "podman image": 3,
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

/**
 * Programs that run the file that they get. With an option before it, the next file may be code on the command line.
 */
const codeNames = new Set(
  "sh bash dash ash ksh python python3 node deno bun perl ruby php source .".split(" "),
)

/** Programs that start another program, which may be one of those. */
const startsCode =
  /^(?:npx|bunx|(?:npm|pnpm|poetry|uv|bundle|yarn|bun) (?:exec|run|dlx|x)) (?:.*\/)?(?:sh|bash|dash|ash|ksh|zsh|node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|perl|ruby|php|env|eval|irb|ipython)(?:@.*)?$/

/** Actions whose options or operands decide what is done: deleting as well as listing, any program, any request. */
const exactOnly =
  /^(?:git (?:branch|tag|config)|(?:docker|podman) (?:run|exec|compose)|docker compose (?:run|exec)|kubectl (?:exec|run|debug)|gh (?:api|alias))(?: |$)/

/** Tools that do one thing, whatever their arguments. */
const tools =
  "tsc eslint prettier biome vitest jest mocha pytest ruff black mypy flake8 isort rustfmt gofmt cmake ninja ctest tox phpunit rspec shellcheck clang-format".split(
    " ",
  )
const oneThing = new Set([...readerNames, ...writerNames, ...wrapperNames, ...builtinNames, ...tools])
const requests = new Set(["curl", "wget", "rsync"])

/**
 * The pattern that the answer `always` allows for a command: its action with any arguments, if arguments cannot turn it
 * into another action; else the command as it is. Undefined if even that would allow code that nobody has seen.
 */
export function alwaysPattern(words: readonly Word[]): string | undefined {
  const texts = words.map(shown)
  const name = texts[0]?.split("/").at(-1)
  if (name === undefined || words[0]?.value === undefined || name === "env") return undefined
  const count = countOf(name, words)
  const action = texts.slice(0, count ?? 1).join(" ")
  if (/[*?]/.test(count === undefined ? texts.join(" ") : action)) return undefined
  if (codeNames.has(name) && words[1]?.value === "eval") return undefined
  if (codeNames.has(name) && (count === undefined || isInput(words[count - 1]!))) {
    return isHarmless(words) ? texts.join(" ") : undefined
  }
  if (inlineCode.test(texts.slice(1).join(" ")) && /^(?:npx|bunx|npm|pnpm|yarn)$/.test(name)) return undefined
  const bare = [name, ...texts.slice(1, count)].join(" ")
  const whole = count === undefined || exactOnly.test(bare) || startsCode.test(bare)
  return whole ? texts.join(" ") : `${action} *`
}

/** Code on the command line of programs that start others. */
const inlineCode = /^(?:.* )?(?:-c|--call)(?:[ =]|$)/

/**
 * How many words name the action; undefined if the action is unknown, or if an option comes before one of its words.
 */
function countOf(name: string, words: readonly Word[]): number | undefined {
  const [, second] = words
  const known = Object.hasOwn(arity, name) ? arity[name] : undefined
  if (known === undefined) {
    const written =
      words[0]!.value === name || /^\/(?:usr\/(?:local\/)?)?s?bin\/[^/]+$/.test(words[0]!.value!)
    return oneThing.has(name) && !requests.has(name) && written ? 1 : undefined
  }
  const pair = `${name} ${second?.value}`
  const count = Object.hasOwn(arity, pair) ? arity[pair]! : known
  const action = words.slice(1, count)
  const plain = action.every((word) => word.value !== undefined && !word.home && /^[^-+]/.test(word.value))
  return action.length === count - 1 && plain ? count : undefined
}

/** The content of a pipe, a heredoc or another descriptor may be different code the next time. */
function isInput(word: Word): boolean {
  return /^(?:-|\/dev\/.*|\/proc\/.*)$/.test(word.value ?? "-")
}

/** Options with which an interpreter runs no text: it prints its version, or runs a module by name. */
function isHarmless([, first, second]: readonly Word[]): boolean {
  if (/^(?:--version|-v|-V|--help|-h|--test)$/.test(first?.value ?? "")) return true
  return first?.value === "-m" && /^(?!code|pdb|timeit|trace|runpy)\w[\w.]*$/.test(second?.value ?? "")
}
