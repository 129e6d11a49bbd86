import type { Route } from "../../protocol/routes/index.ts"

/** Routes that the OpenCode client does not have are also mounted beside its own routes: `/session/:id/tree`. */
export function singularPath(path: string): string[] {
  return path.startsWith("/sessions/:id/") ? [path.replace("/sessions/", "/session/")] : []
}

/** The methods that a path supports. */
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
