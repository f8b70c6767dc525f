package state

// MaxInline is how many files or upstream workstreams a Digest lists itself.
// Beyond it only the sums are kept, so that a boundary stays small.
const MaxInline = 64

// Digest is what a workstream was run from, in named components, each of
// which can explain a rerun. Two digests are equal when their sums are.
type Digest struct {
	Definition string            `json:"definition,omitempty"`
	Inputs     string            `json:"inputs,omitempty"`    // over path and digest of each input file
	Upstream   string            `json:"upstream,omitempty"`  // over the results of what it depends on
	Variables  map[string]string `json:"variables,omitempty"` // "sha256:…", or "sensitive"
	Files      []FileRef         `json:"files,omitempty"`     // of Inputs, where there are few
	Results    map[string]string `json:"results,omitempty"`   // of Upstream, where there are few
	Seen       *Seen             `json:"seen,omitempty"`      // of Inputs, what workstreams may write that need not have ended then
}

// MaxSeen is how many files a Seen lists. Beyond it, it lists none.
const MaxSeen = 1024

// Seen is what a step saw of the files that workstreams may write which need not
// have ended when the step begins. The sum of all files takes them in as they
// were then; with this list it can be taken again after such a workstream has
// changed them. Without a Seen, as before these were recorded, the sum has none
// of the files that only such workstreams make.
type Seen struct {
	Seq   uint64     `json:"seq"`             // of the state when the step looked
	Files []SeenFile `json:"files,omitempty"` // sorted by path; what is not listed was not there
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
