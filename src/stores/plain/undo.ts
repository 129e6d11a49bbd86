/** Changes data in place and records how to undo each change. */
export class Undo {
  readonly #steps: (() => void)[] = []

  set<T extends object, K extends keyof T>(target: T, key: K, value: T[K]): void {
    const before = target[key]
    target[key] = value
    this.#steps.push(() => {
      target[key] = before
    })
  }

  push<T>(list: T[], item: T): void {
    list.push(item)
    this.#steps.push(() => {
      list.pop()
    })
  }

  mapSet<K, V>(map: Map<K, V>, key: K, value: V): void {
    const known = map.has(key)
    const before = map.get(key)
    map.set(key, value)
    this.#steps.push(() => {
      if (known) map.set(key, before as V)
      else map.delete(key)
    })
  }

  mapDelete<K, V>(map: Map<K, V>, key: K): void {
    if (!map.has(key)) return
    const before = map.get(key) as V
    map.delete(key)
    this.#steps.push(() => {
      map.set(key, before)
    })
  }

  setAdd<T>(set: Set<T>, value: T): void {
    if (set.has(value)) return
    set.add(value)
    this.#steps.push(() => {
      set.delete(value)
    })
  }

  /** Undoes all recorded changes, newest first. */
  rollback(): void {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) step()
  }
}
