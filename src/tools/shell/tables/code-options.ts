import type { Word } from "../parse/script.ts"

/** Options of build tools that run a program from the command line, whatever action comes before them. */
const code: Record<string, RegExp> = {
  make: /^(?:--eval|--e(?:v|va)?=|-[a-zA-Z]*E|SHELL=|\.SHELLFLAGS=|MAKEFLAGS=)/,
  go: /^--?(?:exec|toolexec|vettool)(?:=|$)/,
  npm: /^--(?:script-shell|node-options|shell|userconfig|globalconfig)(?:=|$)/,
  pnpm: /^--(?:script-shell|node-options|shell-mode|userconfig|globalconfig)(?:=|$)/,
  yarn: /^--(?:script-shell|use-yarnrc)(?:=|$)/,
  npx: /^(?:-c|--call)(?:=|$)/,
  cargo: /^--config(?:=|$)/,
  pytest: /^-(?:p|c)$|^-p[a-z]/,
  tsc: /^--plugins?$/,
  ld: /^-plugin$/,
}

/** The words of a command that contain code, or name a program that it will start. */
export function codeOptions(name: string, words: readonly Word[]): string[] {
  const pattern = Object.hasOwn(code, name) ? code[name] : undefined
  return pattern
    ? words.filter((word) => pattern.test(word.value ?? word.prefix)).map((word) => word.source)
    : []
}
