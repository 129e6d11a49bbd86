/** The version of this package, as package.json has it; sessions carry the version that made them. */
export const version = "0.1.0"
