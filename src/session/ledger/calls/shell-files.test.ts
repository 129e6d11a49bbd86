import { expect, test } from "vitest"
import { shellFiles } from "./shell-files.ts"

test.each([
  ["echo hi > a.txt 2> /dev/null", ["a.txt"], []],
  ["cat >> 'b c.txt' <<'EOF'\nrm z\nEOF\ntouch d", ["b c.txt", "d"], []],
  ["sed -i 's/a/b/' x.ts y.ts", ["x.ts", "y.ts"], []],
  ["sed -n 1,5p x.ts", [], []],
  ["git mv old.ts new.ts && git rm gone.ts", ["new.ts"], ["old.ts", "gone.ts"]],
  ["sudo rm -rf build; cp a.ts b.ts | tee log.txt", ["b.ts", "log.txt"], ["build"]],
  ["FOO=1 mv a b", ["b"], ["a"]],
  ["npx prettier --write src/a.ts src/b.ts", ["src/a.ts", "src/b.ts"], []],
  ["curl -sL https://example.com/x -o vendor/x.js", ["vendor/x.js"], []],
  ["git checkout main -- src/a.ts", ["src/a.ts"], []],
  ["git checkout main", [], []],
  ["rm *.ts $DIR/x", [], []],
  ["npm test 2>&1", [], []],
  [
    "git apply <<'EOF'\n--- a/src/x.ts\n+++ b/src/x.ts\n@@ -1 +1 @@\n-a\n+b\nEOF\ntouch y.ts",
    ["y.ts", "src/x.ts"],
    [],
  ],
  ["patch -p1 <<EOF\n--- a/old.ts\n+++ /dev/null\nEOF", [], ["old.ts"]],
  ["python3 - <<'PY'\nopen('src/x.py', 'w').write('a')\nPY", ["src/x.py"], []],
  [
    "python - <<EOF\nfrom pathlib import Path\np = Path('src/x.py')\np.write_text('a')\nEOF",
    ["src/x.py"],
    [],
  ],
  ["python - <<EOF\nprint(open('src/x.py').read())\nEOF", [], []],
  ["node <<EOF\nrequire('fs').writeFileSync('src/x.js', 'a')\nEOF", ["src/x.js"], []],
  ["python -c \"open('src/x.py','w').write('a')\"", ["src/x.py"], []],
  ["bash <<EOF\nrm old.ts\nEOF", [], ["old.ts"]],
])("%j", (command, changed, removed) => {
  expect(shellFiles(command)).toEqual({ changed, removed })
})
