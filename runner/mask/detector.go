package mask

// Detector reports whether a stream contains a value that a Masker had when the Detector was
// made, even if writes split the value. It is not safe for concurrent use.
type Detector struct {
	automaton *automaton
	at        int32
	found     bool
}

// Detector returns a new Detector.
func (m *Masker) Detector() *Detector { return &Detector{automaton: m.automaton.Load()} }

// Any reports whether the Masker has any values.
func (m *Masker) Any() bool { return len(m.automaton.Load().nodes) > 1 }

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
			at = a.advance(at, b)
		}
		if a.nodes[at].longest > 0 {
			d.found = true
			break
		}
	}
	d.at = at
	return len(p), nil
}

// Found reports whether the written bytes contained a value in one of its forms.
func (d *Detector) Found() bool { return d.found }
