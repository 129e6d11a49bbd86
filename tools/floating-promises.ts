import { relative, resolve } from "node:path"
import type { Expression, Node, SourceFile } from "typescript/unstable/ast"
import {
  isBinaryExpression,
  isCallExpression,
  isExpressionStatement,
  isPropertyAccessExpression,
} from "typescript/unstable/ast/is"
import { API, type Checker, type Type } from "typescript/unstable/sync"

/**
 * Statements that drop a promise, found with the compiler's own types. Biome's rule knows our own functions but not
 * those of Node (`appendFile(...)` without await passes it), so this looks at every statement once more.
 */
export function findFloatingPromises(configFile: string): string[] {
  const api = new API({ cwd: process.cwd() })
  try {
    const project = api.updateSnapshot({ openProjects: [resolve(configFile)] }).getProjects()[0]!
    const found: string[] = []
    for (const name of project.program.getSourceFileNames()) {
      const file = name.includes("/node_modules/") ? undefined : project.program.getSourceFile(name)
      if (file === undefined || file.isDeclarationFile) continue
      const expressions = droppedExpressions(file)
      const types = project.checker.getTypeAtLocation(expressions)
      expressions.forEach((expression, i) => {
        if (!isThenable(types[i], project.checker)) return
        const { line, character } = file.getLineAndCharacterOfPosition(expression.getStart(file))
        const text = expression.getText(file).split("\n")[0]
        found.push(`${relative(process.cwd(), name)}:${line + 1}:${character + 1} nobody waits for: ${text}`)
      })
    }
    return found
  } finally {
    api.close()
  }
}

function droppedExpressions(file: SourceFile): Expression[] {
  const found: Expression[] = []
  const visit = (node: Node): void => {
    if (isExpressionStatement(node) && !isKept(node.expression)) found.push(node.expression)
    node.forEachChild(visit)
  }
  file.forEachChild(visit)
  return found
}

/** An assignment keeps its value; `.catch(f)` and `.then(f, g)` handle the failure, also with `.finally(f)` after them. */
function isKept(expression: Expression): boolean {
  if (isBinaryExpression(expression)) return expression.operatorToken.getText().endsWith("=")
  if (!isCallExpression(expression) || !isPropertyAccessExpression(expression.expression)) return false
  const method = expression.expression.name.getText()
  if (method === "finally") return isKept(expression.expression.expression)
  const count = expression.arguments.length
  return (method === "catch" && count === 1) || (method === "then" && count === 2)
}

function isThenable(type: Type | undefined, checker: Checker): boolean {
  if (type === undefined) return false
  if (type.isUnionType()) return type.getTypes().some((member) => isThenable(member, checker))
  return checker.getPropertyOfType(type, "then") !== undefined
}

if (import.meta.main) {
  const found = findFloatingPromises(process.argv[2] ?? "tsconfig.json")
  for (const line of found) console.log(line)
  process.exitCode = found.length === 0 ? 0 : 1
}
