// Package disk has the paths of all files in a state directory, and the formats of the
// small ones: checkpoint files, manifest, names. FORMAT.md in the directory of package
// checkpoint describes them.
//
// Layout gives the paths, and CheckpointDir reads and writes checkpoint files. This package
// makes no decisions: package checkpoint decides which process may write and when a file is
// removed, and package journal knows the lines of a journal. To add a file to the state
// directory, give it a name in layout.go.
package disk

import (
	"fmt"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/tree"
)

// The names of files and directories that all PRDs of a state directory share.
const (
	LocksDir     = "locks"
	FailedDir    = "failed"
	TrashDir     = "trash"
	SafetyDir    = "safety"
	UntrustedDir = "untrusted"
	ObjectsDir   = "objects"
	CacheName    = "workspace.cache"
	AuditName    = "audit.log"
	IgnoreName   = ".gitignore"
)

// The names in the directory of a PRD.
const (
	CheckpointsDir = "checkpoints"
	HistoryDir     = "history"
	LogsDir        = "logs"
	RunDir         = "run"
	InboxDir       = "inbox"
	JournalName    = "journal.jsonl"
	NextName       = "next.jsonl" // the journal of the next session, before it is renamed
	ManifestName   = "manifest.json"
	LatestName     = "latest"
	ExportsDir     = "exports"        // in which exports are written by default
	ActsName       = "acts.json"      // acts of sessions that were removed
	ImportingName  = "importing.json" // the intent of an import, until its files are restored
	OriginName     = "origin.json"    // where an imported session came from
)

// ReportExt is the extension of the files that RUNNER_REPORT names.
const ReportExt = ".report"

// The extensions of a PRD's directory while an operation replaces or removes it.
const (
	ArchivingExt = ".archiving"
	ImportingExt = ".importing"
	DeletingExt  = ".deleting"
	MovingExt    = ".moving"
)

// Layout is a state directory: it knows the path of everything in it.
type Layout struct {
	Path     string
	FS       store.FS
	Compress bool // whether new checkpoint files are compressed
	Zstd     *Compressor
}

// NewLayout returns the layout of the state directory at a path.
func NewLayout(path string, fsys store.FS, compress bool) Layout {
	return Layout{Path: filepath.Clean(path), FS: fsys, Compress: compress, Zstd: NewCompressor(MaxCheckpoint)}
}

// PRDDir is the directory of a PRD.
func (l *Layout) PRDDir(prd string) string { return filepath.Join(l.Path, EncodeName(prd)) }

// JournalPath is the journal of the current session of a PRD.
func (l *Layout) JournalPath(prd string) string { return filepath.Join(l.PRDDir(prd), JournalName) }

// DocumentPath is the PRD document.
func (l *Layout) DocumentPath(prd string) string {
	return filepath.Join(l.Path, EncodeName(prd)+".json")
}

// ManifestPath is the list of the checkpoints of the current session of a PRD.
func (l *Layout) ManifestPath(prd string) string { return filepath.Join(l.PRDDir(prd), ManifestName) }

// LockPath is the lock on a PRD.
func (l *Layout) LockPath(prd string) string {
	return filepath.Join(l.Path, LocksDir, EncodeName(prd)+".lock")
}

// StoreLockPath is the lock on the whole state directory.
func (l *Layout) StoreLockPath() string {
	return filepath.Join(l.Path, filepath.FromSlash(tree.StateLock))
}

// InboxPath is the directory of the requests to the owner of a PRD.
func (l *Layout) InboxPath(prd string) string { return filepath.Join(l.PRDDir(prd), InboxDir) }

// LogsDir returns the directory of the logs of a PRD's session.
func (l *Layout) LogsDir(prd string) string { return filepath.Join(l.PRDDir(prd), LogsDir) }

// ServiceLog returns the name of the logs of a service.
func ServiceLog(service string) string { return "service." + service }

// HookLog returns the name of the logs of a hook: the n-th one for an event, from 1.
func HookLog(event string, n int) string { return fmt.Sprintf("hook.%s.%d", event, n) }

// GateLog returns the name of the logs of a gate, by its label.
func GateLog(label string) string {
	gate, owner, _ := state.CutLabel(label)
	return owner + "." + gate
}

// LogName returns the name of the file of the log of an attempt at a workstream, a gate, a
// service or a hook.
func LogName(name string, attempt int) string {
	return fmt.Sprintf("%s.%d.log", EncodeName(name), attempt)
}

// LogPath returns the path of the log of an attempt.
func (l *Layout) LogPath(prd, name string, attempt int) string {
	return filepath.Join(l.LogsDir(prd), LogName(name, attempt))
}

// HistoryLogsDir is LogsDir for a complete session in the history of a PRD.
func (l *Layout) HistoryLogsDir(prd, session string) string {
	return filepath.Join(l.HistoryPath(prd), EncodeName(session), LogsDir)
}

// HistoryLogPath is LogPath for a complete session in the history of a PRD.
func (l *Layout) HistoryLogPath(prd, session, name string, attempt int) string {
	return filepath.Join(l.HistoryLogsDir(prd, session), LogName(name, attempt))
}

// OutputPath returns the path of the file in which an attempt writes its outputs. Its directory
// exists while a Session is open. Runner removes the files that a killed Runner left in
// it.
func (l *Layout) OutputPath(prd, name string, attempt int) string {
	return filepath.Join(l.PRDDir(prd), RunDir, fmt.Sprintf("%s.%d", EncodeName(name), attempt))
}

// ReportPath returns the path of the file that RUNNER_REPORT names for an attempt. Runner
// reads and removes the files that a killed Runner left.
func (l *Layout) ReportPath(prd, name string, attempt int) string {
	return l.OutputPath(prd, name, attempt) + ReportExt
}

// TaskPath returns the path of the file with the text of an attempt's task.
func (l *Layout) TaskPath(prd, name string, attempt int) string {
	return l.OutputPath(prd, name, attempt) + ".task"
}

// FeedbackPath returns the path of the file that RUNNER_FEEDBACK names for an attempt.
func (l *Layout) FeedbackPath(prd, name string, attempt int) string {
	return l.OutputPath(prd, name, attempt) + ".feedback"
}

// EventPath returns the path of the file that RUNNER_EVENT names for an attempt at a hook.
func (l *Layout) EventPath(prd, name string, attempt int) string {
	return l.OutputPath(prd, name, attempt) + ".event"
}

// HistoryPath is the directory of the complete earlier sessions of a PRD.
func (l *Layout) HistoryPath(prd string) string { return filepath.Join(l.PRDDir(prd), HistoryDir) }

// ArchivingPath is where a session is while it moves into the history.
func (l *Layout) ArchivingPath(prd string) string { return l.PRDDir(prd) + ArchivingExt }

// DeletingPath is where a session is while it is deleted.
func (l *Layout) DeletingPath(prd string) string { return l.PRDDir(prd) + DeletingExt }

// ImportingPath is where an imported session is before it takes its place.
func (l *Layout) ImportingPath(prd string) string { return l.PRDDir(prd) + ImportingExt }

// PendingPath is the intent of an import of a PRD.
func (l *Layout) PendingPath(prd string) string { return filepath.Join(l.PRDDir(prd), ImportingName) }

// Within returns the path of a directory below the state directory, slash-separated.
func (l *Layout) Within(dir string) string {
	name, err := filepath.Rel(l.Path, dir)
	if err != nil {
		return filepath.ToSlash(dir)
	}
	return filepath.ToSlash(name)
}

// ActsPath is the file with the acts of removed sessions of a PRD.
func (l *Layout) ActsPath(prd string) string { return filepath.Join(l.PRDDir(prd), ActsName) }

// TrashPath is where directories are moved before they are removed.
func (l *Layout) TrashPath() string { return filepath.Join(l.Path, TrashDir) }

// MovingPath is the scratch directory of a move between file systems.
func (l *Layout) MovingPath(prd string) string { return l.PRDDir(prd) + MovingExt }

// IsOfSession reports whether path is a file of the PRD's current session: the PRD's
// document, or a file in the PRD's directory outside the history.
func (l *Layout) IsOfSession(prd, path string) bool {
	dir := l.PRDDir(prd)
	in, below := strings.CutPrefix(path, dir+string(filepath.Separator))
	return path == l.DocumentPath(prd) || below && !strings.HasPrefix(in, HistoryDir+string(filepath.Separator))
}
