package progress

import (
	"cmp"
	"slices"
	"time"
)

// Took is how long a workstream took in this run: the time in which an attempt ran or a gate was judged,
// without the pauses before further attempts and without the time in which a person was waited for.
type Took struct {
	Name string
	Time time.Duration
}

// maxSlowest is how many of the slowest workstreams are known.
const maxSlowest = 3

// Slowest returns the three workstreams that took longest in this run, the slowest first.
func (p *Progress) Slowest() []Took { return p.slowest }

// busy measures the time in which at least one of several things was going on. The zero value is ready to use.
type busy struct {
	now   int       // how many go on
	since time.Time // when the first of them began
	sum   time.Duration
}

func (b *busy) begin(at time.Time) {
	if b.now == 0 {
		b.since = at
	}
	b.now++
}

func (b *busy) end(at time.Time) {
	if b.now == 0 { // it began before the workstream was counted
		return
	}
	if b.now--; b.now == 0 {
		b.sum += at.Sub(b.since)
	}
}

// endWork takes note of how long a workstream took that has ended.
func (p *Progress) endWork(name string) {
	if s := p.steps[name]; s != nil {
		p.recordDuration(s)
		s.busy = busy{}
	}
}

// recordDuration takes note of how long a workstream has taken until now.
func (p *Progress) recordDuration(s *step) {
	if s.busy.since.IsZero() {
		return
	}
	took := Took{s.name, s.busy.sum}
	p.slowest = slices.DeleteFunc(p.slowest, func(t Took) bool { return t.Name == s.name }) // noted earlier in this run
	i, _ := slices.BinarySearchFunc(p.slowest, took, func(a, b Took) int { return cmp.Compare(b.Time, a.Time) })
	p.slowest = slices.Insert(p.slowest, i, took)
	p.slowest = p.slowest[:min(len(p.slowest), maxSlowest)]
}
