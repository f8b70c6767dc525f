package state

// MaxInline is how many files or upstream workstreams a Digest lists itself.
// Beyond it only the sums are kept, so that a boundary stays small.
const MaxInline = 64

// Digest says what a workstream was run from, by component, so that each component can
// explain a rerun. Two digests are equal if their sums are.
type Digest struct {
	Definition string            `json:"definition,omitempty"`
	Inputs     string            `json:"inputs,omitempty"`    // over path and digest of each input file
	Upstream   string            `json:"upstream,omitempty"`  // over the results of the workstreams that it depends on
	Variables  map[string]string `json:"variables,omitempty"` // "sha256:…", or "sensitive"
	Files      []FileRef         `json:"files,omitempty"`     // of Inputs, where there are few
	Results    map[string]string `json:"results,omitempty"`   // of Upstream, where there are few
	Seen       *Seen             `json:"seen,omitempty"`      // of Inputs, what workstreams may write that need not have ended then
}

// MaxSeen is how many files a Seen lists. Beyond it, it lists none.
const MaxSeen = 1024

// Seen lists the files that a step saw and that workstreams may write which had not
// necessarily ended when the step began. The sum of all files includes them as they were
// then. With this list the sum can be computed again after such a workstream changed them.
// Records of before version 1.2 have no Seen; their sums leave out files that only such
// workstreams make.
type Seen struct {
	Seq   uint64     `json:"seq"`             // of the state when the step looked
	Files []SeenFile `json:"files,omitempty"` // sorted by path; a file that is not listed did not exist
}

// SeenFile is a file as a step saw it.
type SeenFile struct {
	Path   Text   `json:"path"`
	Mode   uint32 `json:"mode"`
	Digest string `json:"digest"`
}

// Equal reports whether two digests name the same origin.
func (d Digest) Equal(o Digest) bool {
	if d.Definition != o.Definition || d.Inputs != o.Inputs || d.Upstream != o.Upstream || len(d.Variables) != len(o.Variables) {
		return false
	}
	for name, sum := range d.Variables {
		if o.Variables[name] != sum {
			return false
		}
	}
	return true
}
