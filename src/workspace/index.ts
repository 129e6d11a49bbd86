export { countLines, type LineCounts, type UnifiedDiffOptions, unifiedDiff } from "./line-diff.ts"
export { openWorkspace, type WorkspaceOptions } from "./paths.ts"
export { type GitSnapshots, openSnapshots, type SnapshotsOptions } from "./snapshots.ts"
export * from "./workspace.ts"
