import { execFileSync } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, it } from "vitest"
import { openStore } from "../../src/index.ts"
import { streamingServer } from "../support/run/streaming-server.ts"
import { randomFrom, soakTimes, testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("slow fsync")
const random = randomFrom(seed)
const toldMs = 100

/** Loaded into the server by the dynamic linker, which Linux has. */
const slowSync = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static int slow(int fd, const char *name) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  usleep(200000);
  return real(fd);
}
int fsync(int fd) { return slow(fd, "fsync"); }
int fdatasync(int fd) { return slow(fd, "fdatasync"); }
`

function hasCompiler(): boolean {
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" })
    return process.platform === "linux"
  } catch {
    return false
  }
}

it.runIf(hasCompiler())(
  "a killed server whose disk takes 200 ms to sync has stored all text that was told 100 ms before",
  {
    timeout: 600_000,
  },
  async () => {
    await using directory = await temporaryDirectory()
    const library = join(directory.path, "slow-sync.so")
    await writeFile(join(directory.path, "slow-sync.c"), slowSync)
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, join(directory.path, "slow-sync.c"), "-ldl"])
    const long = "syllable".repeat(500)
    for (let kill = 0; kill < soakTimes(12); kill++) {
      const prompts = Array.from({ length: 5 }, (_, index) => `repeat ${long.slice(index)}`)
      await using scene = await streamingServer({ env: { LD_PRELOAD: library }, prompts })
      await new Promise((resolve) => setTimeout(resolve, 1000 + random() * 3000))
      const killedMs = await scene.kill()
      await using store = await openStore({ path: scene.database })
      expect(await scene.told.lost(store, killedMs - toldMs)).toEqual([])
    }
  },
)
