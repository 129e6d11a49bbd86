import type { Route } from "../../protocol/routes/index.ts"

/** What the OpenCode client has no name for is also found beside its own routes: `/session/:id/tree`. */
export function singularPath(path: string): string[] {
  return path.startsWith("/sessions/:id/") ? [path.replace("/sessions/", "/session/")] : []
}

/** The methods that a path could have been asked with. */
export function allowedMethods(routes: readonly Route[], path: string): string[] {
  const isAt = (route: Route) =>
    [route.path, ...singularPath(route.path)].some((one) => pattern(one).test(path))
  const methods = routes.filter(isAt).map(({ method }) => method)
  return [...new Set(methods)]
}

function pattern(path: string): RegExp {
  const source = path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/:\w+/g, "[^/]+")
  return new RegExp(`^${source}$`)
}
