/** A prompt under a name: `/name some arguments` sends its template, filled in. */
export interface Command {
  name: string
  template: string
  /** What it is good for, for whoever chooses one. */
  description?: string
  /** Who answers; the session's agent if absent. */
  agent?: string
  /** `provider/model`; that of the agent or the session if absent. */
  model?: string
  /** Runs as a task of its own, in a child session. */
  subtask?: boolean
  /** From a file or config that the user wrote or trusts: what its template itself refers to needs no question. */
  trusted: boolean
}
