package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// CheckpointFile is a checkpoint as its file holds it: all that is needed to
// go on from it without the journal.
type CheckpointFile struct {
	FormatVersion string    `json:"format_version"`
	ID            string    `json:"id"`
	PRD           string    `json:"prd"`
	Session       string    `json:"session"`
	Seq           uint64    `json:"seq"`
	Step          int       `json:"step"`
	StepName      string    `json:"step_name,omitempty"`
	Trigger       Trigger   `json:"trigger"`
	Phase         string    `json:"phase,omitempty"`
	Reason        Text      `json:"reason,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	SessionStart  time.Time `json:"session_started_at"`
	ActiveMS      int64     `json:"active_ms"`
	Files         Files     `json:"files"`
	Git           *Git      `json:"git,omitempty"`
	Pipeline      FileRef   `json:"pipeline"`
	Document      *FileRef  `json:"document,omitempty"`
	Recovery      Recovery  `json:"recovery_info"`
	State         *State    `json:"state,omitempty"`
	Checksum      string    `json:"checksum,omitempty"`
}

// Recovery says what resuming from a checkpoint would do.
type Recovery struct {
	CanResume  bool     `json:"can_resume"`
	ResumeFrom string   `json:"resume_from,omitempty"` // the first workstream or gate that is not done
	Warnings   []string `json:"warnings"`
}

// newCheckpointFile describes a checkpoint; s is the state at its commit.
func newCheckpointFile(s *State, ref *CheckpointRef, files Files) CheckpointFile {
	return CheckpointFile{
		FormatVersion: FormatVersion,
		ID:            ref.ID,
		PRD:           s.PRD,
		Session:       s.Session,
		Seq:           ref.Seq,
		Step:          ref.Step,
		StepName:      ref.StepName,
		Trigger:       ref.Trigger,
		Phase:         ref.Phase,
		Reason:        ref.Reason,
		CreatedAt:     ref.CreatedAt,
		SessionStart:  s.CreatedAt,
		ActiveMS:      s.ActiveMS,
		Files:         files,
		Git:           ref.Git,
		Pipeline:      s.Pipeline,
		Document:      s.Document,
		Recovery:      recovery(s),
		State:         s,
	}
}

// encodeCheckpoint returns the bytes of a checkpoint's file, in parts that
// follow one another. The state's JSON is one of them as it was given, since it
// may be large, and checkpoints of one commit share it.
func encodeCheckpoint(f CheckpointFile, state []byte) (parts [][]byte, err error) {
	f.State, f.Checksum = nil, ""
	head, err := marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint %s: %w", f.ID, err)
	}
	head = bytes.TrimSuffix(head, []byte("}"))
	return [][]byte{head, state, sealOf(head, state)}, nil
}

// encodeState returns the state as the field that encodeCheckpoint takes.
func encodeState(s *State) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(typicalSize(s))
	buf.WriteString(`,"state":`)
	if err := writeState(&buf, s); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// decodeCheckpoint reads a checkpoint's file. The version is looked at first: a
// newer one is a *VersionError.
func decodeCheckpoint(path string, data []byte) (*CheckpointFile, error) {
	if err := checkSealed(path, data); err != nil {
		return nil, fmt.Errorf("decode the checkpoint: %w", err)
	}
	var f CheckpointFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("decode the checkpoint: %w", err)
	}
	if f.State == nil {
		return nil, errors.New("decode the checkpoint: it holds no state")
	}
	if err := f.State.check(); err != nil {
		return nil, fmt.Errorf("decode the checkpoint: %w", err)
	}
	return &f, nil
}

// recovery says what a resume would find.
func recovery(s *State) Recovery {
	r := Recovery{CanResume: s.Status != StatusComplete && !s.Abandoned, Warnings: []string{}}
	for _, p := range s.Phases {
		for _, w := range p.Workstreams {
			if r.ResumeFrom == "" && w.Status != Completed && w.Status != Skipped {
				r.ResumeFrom = w.Name
			}
			r.warn(w)
		}
		for _, g := range p.Gates {
			if r.ResumeFrom == "" && g.Status != Passed && g.Status != Skipped {
				r.ResumeFrom = g.Label
			}
		}
	}
	return r
}

func (r *Recovery) warn(w *Workstream) {
	switch {
	case w.Status == Running:
		r.Warnings = append(r.Warnings, w.Name+" was running")
	case w.Status == Uncertain:
		r.Warnings = append(r.Warnings, "nobody knows whether "+w.Name+" happened")
	case w.Imported:
		r.Warnings = append(r.Warnings, w.Name+" was taken over from a document written by hand")
	}
	if len(w.Edited) > 0 {
		r.Warnings = append(r.Warnings, "artifacts of "+w.Name+" were edited by hand")
	}
}
