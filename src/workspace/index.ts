export { countLines, type LineCounts, type UnifiedDiffOptions, unifiedDiff } from "./line-diff.ts"
export { openWorkspace, type WorkspaceOptions } from "./path/paths.ts"
export { type GitSnapshots, openSnapshots, type SnapshotsOptions } from "./snapshot/snapshots.ts"
export * from "./workspace.ts"
