package checkpoint

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
