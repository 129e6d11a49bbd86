import type { Draw } from "./draw.ts"

/** A command with its output for success and for failure. */
export interface CommandCase {
  command: string
  ok: string
  failed: string
  exit: number
}

interface Names {
  path(): string
  noun(): string
  service(): string
  draw: Draw
}

/** Draws one command of many: tests, builds, migrations, deployments. */
export function commandCase(names: Names): CommandCase {
  return names.draw.one(families)(names)
}

const families: readonly ((names: Names) => CommandCase)[] = [
  ({ path, draw }) => {
    const n = draw.int(12, 400)
    return {
      command: `npx vitest run ${path()}`,
      ok: ` Test Files  1 passed (1)\n      Tests  ${n} passed (${n})\n   Duration  ${draw.int(1, 9)}.21s`,
      failed: ` FAIL  suite > case\nAssertionError: expected 200 to be 404\n      Tests  1 failed | ${n} passed (${n + 1})`,
      exit: 1,
    }
  },
  ({ noun, draw }) => ({
    command: `npm test -- --grep ${noun()}-${noun()}`,
    ok: `  ${draw.int(5, 90)} passing (${draw.int(1, 9)}s)`,
    failed: `  ${draw.int(5, 90)} passing (3s)\n  2 failing\n\n  1) returns the total:\n     TypeError: x is not a function`,
    exit: 2,
  }),
  ({ path, noun, draw }) => ({
    command: `pytest ${path()} -k ${noun()}_${noun()} -q`,
    ok: `..................\n${draw.int(10, 200)} passed in ${draw.int(1, 20)}.4s`,
    failed: `E       assert 3 == 4\n1 failed, ${draw.int(10, 200)} passed in 2.11s`,
    exit: 1,
  }),
  ({ noun, draw }) => ({
    command: `cargo test -p ${noun()}-${noun()} --release`,
    ok: `test result: ok. ${draw.int(3, 80)} passed; 0 failed; 0 ignored`,
    failed: `test result: FAILED. ${draw.int(3, 80)} passed; 1 failed; 0 ignored\nerror: test failed`,
    exit: 101,
  }),
  ({ noun, service }) => ({
    command: `go test ./internal/${noun()}/... -run Test${service()}`,
    ok: "ok  \tacme/shop/internal\t0.412s",
    failed: "--- FAIL: TestLimit (0.00s)\n    limit_test.go:41: got 3, want 4\nFAIL",
    exit: 1,
  }),
  ({ noun }) => ({
    command: `./gradlew :${noun()}-${noun()}:check`,
    ok: "BUILD SUCCESSFUL in 14s\n23 actionable tasks: 9 executed",
    failed: "> Task :compileJava FAILED\n\nBUILD FAILED in 6s",
    exit: 1,
  }),
  ({ noun, draw }) => ({
    command: `mvn -pl ${noun()}-${noun()} verify -DskipITs`,
    ok: `[INFO] BUILD SUCCESS\n[INFO] Total time:  ${draw.int(10, 90)}.1 s`,
    failed: "[ERROR] COMPILATION ERROR :\n[INFO] BUILD FAILURE",
    exit: 1,
  }),
  ({ noun }) => ({
    command: `make ${noun()}-${noun()}`,
    ok: "cc -O2 -o bin/app main.o\nbuilt bin/app",
    failed: "main.c:88: undefined reference to `limit'\nmake: *** [Makefile:31: all] Error 1",
    exit: 2,
  }),
  ({ service, draw }) => ({
    command: `docker build -t acme/${service()}:${draw.hex(7)} .`,
    ok: " => exporting to image\n => => writing image sha256:9d0c1f",
    failed: 'ERROR: failed to solve: process "/bin/sh -c npm ci" did not complete successfully',
    exit: 1,
  }),
  ({ service, draw }) => ({
    command: `kubectl rollout status deploy/${service()}-${draw.int(10, 99)} -n shop`,
    ok: "deployment successfully rolled out",
    failed: "error: deployment exceeded its progress deadline",
    exit: 1,
  }),
  ({ noun }) => ({
    command: `terraform plan -target=module.${noun()}_${noun()}`,
    ok: "Plan: 2 to add, 1 to change, 0 to destroy.",
    failed: "Error: Unsupported argument\n\n  on main.tf line 12",
    exit: 1,
  }),
  ({ noun, draw }) => ({
    command: `psql -d shop_${noun()} -f db/backfill_${draw.int(100, 999)}.sql`,
    ok: "UPDATE 18233",
    failed: 'psql:backfill.sql:3: ERROR:  column "total" does not exist',
    exit: 3,
  }),
  ({ draw, noun }) => ({
    command: `alembic upgrade ${draw.hex(12)}`,
    ok: `INFO  [alembic.runtime.migration] Running upgrade -> add ${noun()}`,
    failed: "alembic.util.exc.CommandError: Can't locate revision",
    exit: 255,
  }),
  ({ path }) => ({
    command: `npx eslint ${path()} --max-warnings 0`,
    ok: "(no output)",
    failed: "  12:7  error  'limit' is assigned a value but never used\n\n✖ 1 problem (1 error, 0 warnings)",
    exit: 1,
  }),
  ({ noun }) => ({
    command: `npx tsc -p packages/${noun()}-${noun()}`,
    ok: "(no output)",
    failed: "src/index.ts(14,3): error TS2345: Argument of type 'string' is not assignable",
    exit: 2,
  }),
  ({ noun, draw }) => ({
    command: `pnpm --filter @acme/${noun()}-${noun()} build`,
    ok: `✓ ${draw.int(80, 900)} modules transformed.\n✓ built in 4.18s`,
    failed: "error during build:\nRollupError: Could not resolve entry module",
    exit: 1,
  }),
  ({ service, draw }) => ({
    command: `curl -sf http://localhost:${draw.int(3000, 9999)}/${service()}/health`,
    ok: '{"status":"ok"}',
    failed: "curl: (22) The requested URL returned error: 503",
    exit: 22,
  }),
  ({ noun, draw }) => ({
    command: `bundle exec rspec spec/models/${noun()}_${noun()}_spec.rb:${draw.int(10, 300)}`,
    ok: "1 example, 0 failures",
    failed: "1 example, 1 failure\n\nFailed examples:\nrspec ./spec/models",
    exit: 1,
  }),
  ({ noun, draw }) => ({
    command: `mix test test/${noun()}_${noun()}_test.exs --seed ${draw.int(1000, 99999)}`,
    ok: "12 tests, 0 failures",
    failed: "12 tests, 1 failure",
    exit: 2,
  }),
  ({ service, draw }) => ({
    command: `./scripts/deploy.sh ${service()} --wave ${draw.int(2, 40)}`,
    ok: "deployed, 3/3 healthy",
    failed: "health check did not pass, rolled back",
    exit: 4,
  }),
  ({ noun, draw }) => ({
    command: `ctest --test-dir build -R ${noun()}_${noun()} -j${draw.int(2, 16)}`,
    ok: "100% tests passed, 0 tests failed out of 9",
    failed: "89% tests passed, 1 tests failed out of 9",
    exit: 8,
  }),
  ({ noun }) => ({
    command: `uv run mypy app/${noun()}_${noun()}.py --strict`,
    ok: "Success: no issues found in 1 source file",
    failed: 'error: Incompatible return value type (got "int", expected "str")\nFound 1 error in 1 file',
    exit: 1,
  }),
  ({ service, draw }) => ({
    command: `helm upgrade ${service()} deploy/helm --set replicas=${draw.int(2, 30)}`,
    ok: "Release has been upgraded. Happy Helming!",
    failed: "Error: UPGRADE FAILED: another operation is in progress",
    exit: 1,
  }),
  ({ draw, noun }) => ({
    command: `k6 run -u ${draw.int(10, 500)} load/${noun()}-${noun()}.js`,
    ok: "     ✓ status was 200\n     http_req_duration: avg=41ms p(95)=88ms",
    failed: "ERRO[0031] thresholds on metrics 'http_req_duration' have been crossed",
    exit: 99,
  }),
]
