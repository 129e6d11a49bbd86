import { ConfigFiles } from "./files/config-files.ts"
import type { ServerConfig } from "./files/schema.ts"
import { gatherLayer, readLayer } from "./layer.ts"
import type { Environment } from "./paths.ts"

/** The `server` settings. Reads the user's own config only, and throws `invalid` if that is invalid. */
export async function readServerConfig(options: {
  configDirectory: string
  env: Environment
}): Promise<{ server: ServerConfig; notices: readonly string[] }> {
  const { configDirectory: directory, env } = options
  const files = new ConfigFiles()
  const found = await gatherLayer(files, {
    directory,
    inner: directory,
    read: (path) => files.readOwn(path),
  })
  const layer = await readLayer(found, { origin: "user", trusted: true, env, watch: async () => {} })
  return { server: layer.config.server ?? {}, notices: layer.notices }
}
