package mask

// Detector finds the values of a Masker in a stream, however it is cut into
// writes. It is not safe for use by several goroutines.
type Detector struct {
	automaton *automaton
	at        int32
	found     bool
}

// Detector returns a detector that has seen nothing yet.
func (m *Masker) Detector() *Detector { return &Detector{automaton: m.automaton} }

// Any reports whether there is anything to hide.
func (m *Masker) Any() bool { return len(m.automaton.nodes) > 1 }

// Write implements io.Writer. It never fails.
func (d *Detector) Write(p []byte) (int, error) {
	if d.found {
		return len(p), nil
	}
	a, at := d.automaton, d.at
	for _, b := range p {
		if at == 0 {
			if at = a.root[b]; at == 0 {
				continue
			}
		} else {
			at = a.next(at, b)
		}
		if a.nodes[at].longest > 0 {
			d.found = true
			break
		}
	}
	d.at = at
	return len(p), nil
}

// Found reports whether a value, in one of its forms, was in what was written.
func (d *Detector) Found() bool { return d.found }
