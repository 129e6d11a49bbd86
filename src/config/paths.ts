import { userInfo } from "node:os"
import { isAbsolute, join, resolve } from "node:path"

export type Environment = Readonly<Record<string, string | undefined>>

/** The directory for sessions and all other data of Stemma: `STEMMA_DATA`, else the XDG directory. */
export function dataDirectory(env: Environment): string {
  return stemmaDirectory(env, { own: "STEMMA_DATA", xdg: "XDG_DATA_HOME", otherwise: [".local", "share"] })
}

/** The directory of the user's config: `STEMMA_CONFIG`, else the XDG directory. */
export function configDirectory(env: Environment): string {
  return stemmaDirectory(env, { own: "STEMMA_CONFIG", xdg: "XDG_CONFIG_HOME", otherwise: [".config"] })
}

/** The home directory of the user that the environment belongs to. */
export function homeDirectory(env: Environment): string {
  // `homedir` returns HOME as it is, even if it is relative.
  return env.HOME && isAbsolute(env.HOME) ? env.HOME : userInfo().homedir
}

function stemmaDirectory(env: Environment, names: { own: string; xdg: string; otherwise: string[] }): string {
  const own = env[names.own]
  if (own) return resolve(own)
  const xdg = env[names.xdg]
  // The XDG specification says that a relative path must be ignored.
  const base = xdg && isAbsolute(xdg) ? xdg : join(homeDirectory(env), ...names.otherwise)
  return join(base, "stemma")
}
