import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"

export type Environment = Readonly<Record<string, string | undefined>>

/** Where sessions and everything else that Stemma keeps are: `STEMMA_DATA`, else the XDG place. */
export function dataDirectory(env: Environment): string {
  return place(env, { own: "STEMMA_DATA", xdg: "XDG_DATA_HOME", otherwise: [".local", "share"] })
}

/** Where the user's config is: `STEMMA_CONFIG`, else the XDG place. */
export function configDirectory(env: Environment): string {
  return place(env, { own: "STEMMA_CONFIG", xdg: "XDG_CONFIG_HOME", otherwise: [".config"] })
}

/** The home of whoever the environment is about. */
export function homeDirectory(env: Environment): string {
  return env.HOME && isAbsolute(env.HOME) ? env.HOME : homedir()
}

function place(env: Environment, names: { own: string; xdg: string; otherwise: string[] }): string {
  const own = env[names.own]
  if (own) return resolve(own)
  const xdg = env[names.xdg]
  // The XDG specification says that a relative path is to be ignored.
  const base = xdg && isAbsolute(xdg) ? xdg : join(homeDirectory(env), ...names.otherwise)
  return join(base, "stemma")
}
