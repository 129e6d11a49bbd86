import { pathOf } from "../names.ts"

const literalsMax = 8
/** A call that writes to a file, with the file's name as a literal. */
const writesNamed =
  /(?:\bopen\(\s*|\bPath\(\s*|[wW]riteFile(?:Sync)?\(\s*|appendFile(?:Sync)?\(\s*|\bFile\.(?:write|open)\(\s*|file_put_contents\(\s*|\bBun\.write\(\s*|writeTextFile(?:Sync)?\(\s*)(["'])([^"'\n]{1,300})\1(?:\s*,\s*["'](?:[wax]|r\+)|\)\.(?:write_|open\(["'][wax])|\s*,(?!\s*["']r))/g
const writes =
  /\.write(?:_text|_bytes|lines)?\(|[wW]riteFile|appendFile|file_put_contents|\bopen\([^)\n]{1,200}["'][wax]\+?b?["']|writeTextFile|json\.dump\(|yaml\.(?:safe_)?dump\(|shutil\.(?:copy|move)|\.(?:rename|replace)\(\s*["'][^"'\n]*\//
const literal = /(["'])([^"'\s]{3,300})\1/g

/**
 * The files that a script writes: the literals in its write calls, else all path literals if the script writes at all.
 */
export function scriptFiles(script: string): string[] {
  const named = [...script.matchAll(writesNamed)].map(([, , path]) => path!)
  if (named.length > 0) return [...new Set(named)].slice(0, literalsMax)
  if (!writes.test(script)) return []
  const paths = [...script.matchAll(literal)].flatMap(([, , word]) => pathOf(word!) ?? [])
  return [...new Set(paths)].slice(0, literalsMax)
}
