/** The version of this package, equal to the one in package.json. Each session stores the version that made it. */
export const version = "0.1.0"
