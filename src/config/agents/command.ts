/** A named prompt: `/name some arguments` sends its template with the arguments filled in. */
export interface Command {
  name: string
  template: string
  /** What the command is good for, for a person who chooses one. */
  description?: string
  /** The agent that answers; the session's agent if absent. */
  agent?: string
  /** `provider/model`; the model of the agent or the session if absent. */
  model?: string
  /** Runs as a subtask, in a child session. */
  subtask?: boolean
  /** True if the user wrote or trusts the command: references in its template then need no permission request. */
  trusted: boolean
}
