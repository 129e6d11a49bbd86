const contentSecurity = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

/** The headers of every answer. */
export const commonHeaders: Record<string, string> = {
  "content-security-policy": contentSecurity,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
}

/** The answer to a CORS preflight request of an allowed origin. */
export function preflight(headers: Record<string, string>): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers": "authorization, content-type, last-event-id, x-opencode-directory",
      "access-control-max-age": "600",
    },
  })
}
