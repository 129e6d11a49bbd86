/**
 * A range of a segment: its messages at positions `from` up to, and without, `to`. A message has the same position in
 * every history that includes it, because histories share only their beginning.
 */
export interface Span<S = string> {
  segment: S
  from: number
  to: number
}
