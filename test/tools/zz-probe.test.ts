import { test } from "vitest"
import { symlink } from "node:fs/promises"
import { join } from "node:path"
import { defaultRules } from "/work/main/src/config/default-rules.ts"
import { evaluate } from "/work/main/src/session/permit.ts"
import { bashTool } from "/work/main/src/tools/bash.ts"
import { toolContext } from "/work/main/test/support/tool-context.ts"
test("probe", async () => {
  const context = await toolContext({ git: true, files: { "a.txt":"a", ".env":"K=1", "src/a.ts":"a", "pkg/x.json":"{}", "package.json":"{}" } })
  const order=["allow","ask","deny"]
  const mk=(extra:any[])=>(w:any)=>order[Math.max(...w.patterns.map((p:string)=>order.indexOf(evaluate(w.permission,p,[...defaultRules,...extra]).action)),order.indexOf(w.floor??"allow"))]
  const allow={permission:"bash",pattern:"*",action:"allow"}
  const sets:any={plan:[allow,{permission:"edit",pattern:"*",action:"deny"}],open:[allow,{permission:"edit",pattern:"*",action:"allow"}]}
  const run=async(set:string,c:string)=>{const decide=mk(sets[set]);const w=await bashTool.wants({command:c},{...context,decide} as any);const a=w.map(decide);console.log(set.padEnd(5),order[Math.max(...a.map((x:any)=>order.indexOf(x)))].padEnd(6),c, w.filter((x:any)=>decide(x)!=="allow").map((x:any)=>x.permission+":"+x.patterns.slice(0,2)+(x.metadata?.reason?" "+String(x.metadata.reason).slice(0,70):"")).join(" | "))}
  for (const c of ["ls -la","cat a.txt","git status","git diff","git log --oneline -5","git diff HEAD~1 -- src","git show HEAD:src/a.ts","grep -rn foo src","grep -rn foo .","rg foo","rg -n foo src","rg -t ts foo","grep -rn --include='*.ts' foo .","find . -name '*.ts' -exec grep -n x {} +","find . -type f | head","git grep foo","git ls-files | wc -l","jq .version package.json","wc -l $(git ls-files)","diff a.txt src/a.ts","head -20 src/*.ts","for f in src/*.ts; do wc -l \"$f\"; done","tree -L 2","git log --format='%h %s' -3","git branch -a","printf '%s\\n' \"$x\"","sed -n 1,5p a.txt | awk '{print $1}'"]) await run("plan",c)
  for (const c of ["npm test","git add -A && git commit -m 'x y'","git checkout -b x","git stash","git pull","mkdir -p a/b && touch a/b/c","mv src lib","cp -r src lib","cp a.txt src/","rm -rf dist","tar czf x.tgz src","curl -s https://example.org | jq .","curl -s http://localhost:3000/api -H 'A: b' -d '{\"a\":1}'","python3 x.py","sed -i s/a/b/ src/*.ts","sed -i.bak s/a/b/ src/*.ts","export FOO=bar && npm test","f() { local x=\"$1\"; echo $x; }; f a","wget https://e.org/a.tgz","git clone https://github.com/a/b","git mv a.txt b.txt","zip -r x.zip src","ln -s src/a.ts l","rsync -a src/ lib/","git push origin main","bash -lc 'npm test'","bash -euo pipefail -c 'ls'"]) await run("open",c)
  await context[Symbol.asyncDispose]()
})
