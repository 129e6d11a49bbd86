import type { Draw } from "../draw.ts"
import type { World } from "../world.ts"

/** One kind of random step: how often it occurs, and what it does. */
export interface Step {
  weight: number
  run(world: World, draw: Draw): Promise<void>
}

export type Steps = Record<string, Step>
