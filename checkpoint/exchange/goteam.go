package exchange

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

const (
	goTeamManifest = "manifest.json"
	goTeamHistory  = "rollback-history.json"
	goTeamStamp    = "20060102-150405" // the time in an id
	codeFiles      = "code_files"      // outputs: the artifacts that are not tests
	testFiles      = "test_files"      // outputs: the artifacts that are tests
)

// goTeamCheckpoint is the checkpoint of a step, in the format go-team.
type goTeamCheckpoint struct {
	ID         string         `json:"id"`
	SessionID  string         `json:"session_id"`
	StepNumber int            `json:"step_number"`
	StepName   string         `json:"step_name"`
	CreatedAt  time.Time      `json:"created_at"`
	State      goTeamState    `json:"state"`
	Outputs    map[string]any `json:"outputs"`
	Files      goTeamFiles    `json:"files"`
	Git        goTeamGit      `json:"git"`
	Checksum   string         `json:"checksum,omitempty"` // last: it covers what is before it
}

type goTeamState struct {
	Phase          string              `json:"phase"`
	CurrentStep    int                 `json:"current_step"`
	IterationCount int                 `json:"iteration_count"`
	Metrics        map[string]any      `json:"metrics"`
	Checkpoint     goTeamOfCheckpoints `json:"checkpoint"`
}

type goTeamOfCheckpoints struct {
	Current  string           `json:"current_checkpoint"`
	Count    int              `json:"checkpoint_count"`
	LastAt   time.Time        `json:"last_checkpoint_at"`
	Rollback []goTeamRollback `json:"rollback_history"`
}

type goTeamFiles struct {
	Created  []string `json:"created"`
	Modified []string `json:"modified"`
}

type goTeamGit struct {
	Enabled    bool   `json:"enabled"`
	CommitHash string `json:"commit_hash,omitempty"`
	Branch     string `json:"branch,omitempty"`
}

type goTeamManifestFile struct {
	SessionID   string           `json:"session_id"`
	Topic       string           `json:"topic"`
	CreatedAt   time.Time        `json:"created_at"`
	Checkpoints []goTeamEntry    `json:"checkpoints"`
	Current     string           `json:"current_checkpoint"`
	Rollbacks   []goTeamRollback `json:"rollback_history"`
}

type goTeamEntry struct {
	ID        string    `json:"id"`
	Step      int       `json:"step"`
	Timestamp time.Time `json:"timestamp"`
	Valid     bool      `json:"valid"`
}

type goTeamRollback struct {
	ID             string    `json:"id"`
	Timestamp      time.Time `json:"timestamp"`
	FromCheckpoint string    `json:"from_checkpoint"`
	FromStep       int       `json:"from_step"`
	ToCheckpoint   string    `json:"to_checkpoint"`
	ToStep         int       `json:"to_step"`
	Reason         string    `json:"reason"`
}

// exportGoTeam writes a checkpoint for each completed workstream, the manifest, and the
// history of rollbacks. The format has a step for each piece of work, so every completed
// workstream becomes one, also one whose own checkpoint retention has removed.
func exportGoTeam(s Source, write func(File) error) error {
	st := s.State
	steps := goTeamSteps(st)
	manifest := goTeamManifestFile{
		SessionID: st.Session, Topic: st.Title, CreatedAt: st.CreatedAt, Checkpoints: []goTeamEntry{}, Rollbacks: goTeamRollbacks(st, steps),
	}
	c := goTeamCheckpoint{SessionID: st.Session, Outputs: map[string]any{}, State: goTeamState{Metrics: map[string]any{}}}
	for i, w := range steps {
		c.add(st, i+1, w)
		c.State.Checkpoint.Rollback = manifest.Rollbacks
		data, err := c.encode()
		if err != nil {
			return err
		}
		if err := write(File{Name: c.ID + disk.JSONExt, Data: data}); err != nil {
			return err
		}
		manifest.Checkpoints = append(manifest.Checkpoints, goTeamEntry{c.ID, c.StepNumber, c.CreatedAt, true})
		manifest.Current = c.ID
	}
	for _, file := range []struct {
		name    string
		content any
	}{{goTeamHistory, manifest.Rollbacks}, {goTeamManifest, manifest}} {
		data, err := json.MarshalIndent(file.content, "", "  ")
		if err != nil {
			return err
		}
		if err := write(File{Name: file.name, Data: append(data, '\n')}); err != nil {
			return err
		}
	}
	return nil
}

// goTeamSteps returns the completed workstreams in the order in which they completed.
// Those that an earlier session completed come first.
func goTeamSteps(st *state.State) []*state.Workstream {
	var steps []*state.Workstream
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			if w.Status == state.Completed {
				steps = append(steps, w)
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b *state.Workstream) int { return a.Step - b.Step })
	return steps
}

// add makes c the checkpoint of the next step. Outputs and metrics of earlier steps stay.
func (c *goTeamCheckpoint) add(st *state.State, step int, w *state.Workstream) {
	c.StepNumber, c.StepName, c.CreatedAt = step, w.Name, goTeamTime(st, w)
	c.Git = goTeamGit{}
	if git := gitAtStep(st, w); git != nil {
		c.Git = goTeamGit{Enabled: true, CommitHash: git.Commit, Branch: plain(git.Branch)}
	}
	c.ID = goTeamID(step, w, c.CreatedAt)
	c.State.CurrentStep, c.State.IterationCount, c.State.Phase = step, 0, ""
	if p := w.Phase(); p != nil {
		c.State.Phase = p.Name
		if p.Iteration != nil {
			c.State.IterationCount = p.Iteration.Index
		}
	}
	for name, m := range st.Metrics {
		if m.Workstream == w.Name || m.Workstream == "" {
			c.State.Metrics[name] = m.Value
		}
	}
	c.State.Checkpoint = goTeamOfCheckpoints{Current: c.ID, Count: step, LastAt: c.CreatedAt}
	c.addOutputs(w)
}

// addOutputs adds the outputs and files of a step.
func (c *goTeamCheckpoint) addOutputs(w *state.Workstream) {
	code, _ := c.Outputs[codeFiles].([]string)
	tests, _ := c.Outputs[testFiles].([]string)
	c.Files = goTeamFiles{Created: []string{}, Modified: []string{}}
	for _, a := range w.Artifacts {
		file := plain(a.Path)
		if a.Change == state.FileModified {
			c.Files.Modified = append(c.Files.Modified, file)
		} else {
			c.Files.Created = append(c.Files.Created, file)
		}
		if isTest(file) {
			tests = append(tests, file)
		} else {
			code = append(code, file)
		}
	}
	for name, value := range w.Outputs {
		if !slices.Contains(w.Metrics, name) && name != codeFiles && name != testFiles {
			c.Outputs[name] = plain(value)
		}
	}
	c.Outputs[codeFiles], c.Outputs[testFiles] = emptyNotNull(code), emptyNotNull(tests)
}

// emptyNotNull returns a list that JSON shows as [] if it is empty.
func emptyNotNull(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// plain returns a text for a format that has no other bytes than UTF-8.
func plain(t state.Text) string { return strings.ToValidUTF8(string(t), "\uFFFD") }

// isTest reports whether a file is named as tests are in usual languages.
func isTest(name string) bool {
	base := path.Base(name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	return strings.HasPrefix(base, "test_") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec")
}

// gitAtStep returns where git stood at the first checkpoint of a step, or else where it
// stands now.
func gitAtStep(st *state.State, w *state.Workstream) *state.Git {
	for _, ref := range st.Checkpoints {
		if ref.Valid && ref.Git != nil && w.Step > 0 && ref.StepName == w.Name {
			return ref.Git
		}
	}
	return st.Git
}

// goTeamID returns the id of the checkpoint of a step.
func goTeamID(step int, w *state.Workstream, at time.Time) string {
	return fmt.Sprintf("cp-%02d-%s-%s", step, disk.EncodeName(w.Name), at.UTC().Format(goTeamStamp))
}

// goTeamTime returns when a step was completed.
func goTeamTime(st *state.State, w *state.Workstream) time.Time {
	if w.EndedAt != nil {
		return *w.EndedAt
	}
	return st.UpdatedAt
}

// goTeamRollbacks returns the rollbacks. Their checkpoints are named as those of the steps
// that the export has; others keep the names that Runner gave them.
func goTeamRollbacks(st *state.State, steps []*state.Workstream) []goTeamRollback {
	named := func(number int, otherwise string) string {
		for i, w := range steps {
			if w.Step == number && number > 0 {
				return goTeamID(i+1, w, goTeamTime(st, w))
			}
		}
		return otherwise
	}
	all := []goTeamRollback{}
	for _, r := range st.Rollbacks {
		if r.Error == "" {
			all = append(all, goTeamRollback{r.ID, r.At, named(r.FromStep, r.From), r.FromStep, named(r.ToStep, r.To), r.ToStep, cmp.Or(plain(r.Reason), "requested")})
		}
	}
	return all
}

// encode returns the file of a checkpoint. Its checksum is that of the compact JSON of the
// checkpoint without the field.
func (c goTeamCheckpoint) encode() ([]byte, error) {
	c.Checksum = ""
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	c.Checksum = goTeamChecksum(data)
	if data, err = json.MarshalIndent(c, "", "  "); err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

func goTeamChecksum(compact []byte) string {
	sum := sha256.Sum256(compact)
	return hex.EncodeToString(sum[:])
}

// checksumHolds reports whether the checksum of a checkpoint, its last field, is that of
// the compact JSON before it.
func checksumHolds(data []byte, checksum string) bool {
	var compact bytes.Buffer
	if json.Compact(&compact, data) != nil {
		return false
	}
	field := `,"checksum":"` + checksum + `"}`
	before, found := strings.CutSuffix(compact.String(), field)
	return found && goTeamChecksum([]byte(before+"}")) == strings.TrimPrefix(checksum, "sha256:")
}
