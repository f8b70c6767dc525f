package graph_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"prdrunner/pipeline/graph"
)

// draw returns a graph in which each workstream needs some of those in earlier batches.
func draw(t *rapid.T) *graph.Graph {
	g := &graph.Graph{PRD: "PRD-001"}
	var before []string
	for i := range rapid.IntRange(1, 4).Draw(t, "phases") {
		phase := graph.Phase{Name: fmt.Sprint("phase", i), Number: i + 1}
		if rapid.Bool().Draw(t, "gate") {
			phase.Gates = []graph.Gate{{Name: "sign-off", Kind: "approval"}}
		}
		for batch := range rapid.IntRange(0, 3).Draw(t, "batches") {
			var names []string
			for range rapid.IntRange(1, 9).Draw(t, "boxes") {
				name := fmt.Sprintf("w%d", len(before)+len(names))
				instances := 1
				if rapid.IntRange(0, 4).Draw(t, "block") == 0 {
					instances = rapid.SampledFrom([]int{1, 3, 40, 1200}).Draw(t, "instances")
				}
				var needs []string
				if len(before) > 0 {
					needs = rapid.SliceOfNDistinct(rapid.SampledFrom(before), 0, 4, rapid.ID[string]).Draw(t, "needs")
				}
				for k := range instances {
					of := name
					if instances > 1 {
						of = fmt.Sprintf("%s[%q]", name, fmt.Sprint("key", k))
					}
					w := graph.Workstream{Name: of, Title: of, Batch: batch + 1, DependsOn: needs}
					phase.Workstreams = append(phase.Workstreams, w)
					if k == 0 {
						names = append(names, of)
					}
				}
			}
			before = append(before, names...)
		}
		g.Phases = append(g.Phases, phase)
	}
	return g
}

// TestLayout holds for graphs of every shape: boxes lie in the band of their phase and don't overlap, lines lead down
// and touch only the boxes that they join, and who reads the lines finds out everything that a workstream needs.
func TestLayout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := draw(t)
		p := g.Layout()
		var boxes []*graph.Box
		bandOf := map[*graph.Box]*graph.Band{}
		at := 0
		for _, band := range p.Bands {
			if band.Y < at || band.Y+band.Height > p.Height {
				t.Fatalf("the band of %s lies from %d to %d, after one that ends at %d, in a picture of the height %d", band.Phase.Name, band.Y, band.Y+band.Height, at, p.Height)
			}
			at = band.Y + band.Height
			for _, b := range band.Boxes() {
				if b.X < 0 || b.X+b.Width > p.Width || b.Y < band.Y || b.Y+b.Height > band.Y+band.Height {
					t.Fatalf("%s lies outside of the band of %s", b.Name, band.Phase.Name)
				}
				boxes, bandOf[b] = append(boxes, b), band
			}
		}
		for i, a := range boxes {
			for _, b := range boxes[i+1:] {
				if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
					t.Fatalf("%s and %s overlap", a.Name, b.Name)
				}
			}
		}
		for _, l := range p.Lines {
			y := l.From.Y + l.From.Height
			for _, via := range append(l.Via, graph.Point{X: l.To.X, Y: l.To.Y}) {
				if via.Y < y {
					t.Fatalf("the line from %s to %s leads up", l.From.Name, l.To.Name)
				}
				y = via.Y
			}
			for _, via := range l.Via {
				for _, b := range boxes {
					if via.X >= b.X && via.X <= b.X+b.Width && via.Y >= b.Y && via.Y <= b.Y+b.Height {
						t.Fatalf("the line from %s to %s touches %s", l.From.Name, l.To.Name, b.Name)
					}
				}
			}
		}
		checkNeeds(t, p, boxes)
	})
}

// checkNeeds compares what the lines say with what the workstreams need.
func checkNeeds(t *rapid.T, p *graph.Picture, boxes []*graph.Box) {
	boxOf, needs, drawn := map[string]*graph.Box{}, map[*graph.Box]map[*graph.Box]bool{}, map[*graph.Box]map[*graph.Box]bool{}
	for _, b := range boxes {
		needs[b], drawn[b] = map[*graph.Box]bool{}, map[*graph.Box]bool{}
		for _, w := range b.Instances {
			boxOf[w.Name] = b
		}
	}
	include := func(all map[*graph.Box]map[*graph.Box]bool, b, from *graph.Box) {
		all[b][from] = true
		for further := range all[from] {
			all[b][further] = true
		}
	}
	for _, b := range boxes { // what is needed comes first
		for _, name := range b.Instances[0].DependsOn {
			include(needs, b, boxOf[name])
		}
		for _, l := range p.Lines {
			if l.To != b {
				continue
			}
			include(drawn, b, l.From)
			for _, other := range p.Lines {
				if other.To == b && other.From != l.From && drawn[other.From][l.From] {
					t.Fatalf("the line from %s to %s says nothing new", l.From.Name, b.Name)
				}
			}
		}
		for from := range needs[b] {
			if !drawn[b][from] {
				t.Fatalf("no lines lead from %s to %s", from.Name, b.Name)
			}
		}
		if len(drawn[b]) != len(needs[b]) {
			t.Fatalf("lines lead to %s from %d boxes, and it needs %d", b.Name, len(drawn[b]), len(needs[b]))
		}
	}
}

// TestSVG: the SVG of any graph is well-formed, and the same each time.
func TestSVG(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := draw(t)
		var first, second bytes.Buffer
		d := graph.Drawing{Mark: func(string) graph.Mark { return graph.Mark{Class: graph.ClassFailed, Sign: "<", Text: "a & b"} }}
		if err := errors.Join(g.Layout().WriteSVG(&first, d), g.Layout().WriteSVG(&second, d)); err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() {
			t.Fatal("two drawings of one graph differ")
		}
		for dec := xml.NewDecoder(&first); ; {
			_, err := dec.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestManyInstances: every key of a thousand instances can be read; of more than that, each is a figure.
func TestManyInstances(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1000, 10_000} {
		phase := graph.Phase{Name: "one", Number: 1}
		for i := range n {
			phase.Workstreams = append(phase.Workstreams, graph.Workstream{Name: fmt.Sprintf("w[%q]", fmt.Sprint("key-", i)), Batch: 1})
		}
		g := &graph.Graph{PRD: "PRD-001", Phases: []graph.Phase{phase}}
		var b bytes.Buffer
		p := g.Layout()
		mark := func(name string) graph.Mark {
			if name == `w["key-7"]` {
				return graph.Mark{Class: graph.ClassFailed, Sign: "✗", Text: "failed"}
			}
			return graph.Mark{Class: graph.ClassDone, Sign: "✓", Text: "completed"}
		}
		if err := p.WriteSVG(&b, graph.Drawing{Mark: mark}); err != nil {
			t.Fatal(err)
		}
		keys, figures := strings.Count(b.String(), "> key-"), strings.Count(b.String(), "M")
		if !strings.Contains(b.String(), fmt.Sprintf("w: %d completed, 1 failed", n-1)) || !strings.Contains(b.String(), `class="box bad"`) {
			t.Errorf("the box of %d does not say that one has failed", n)
		}
		if n == 1000 && keys != n || n > 1000 && (keys > 0 || figures < n) {
			t.Errorf("of %d instances, %d keys and %d figures are drawn", n, keys, figures)
		}
		if p.Width > 1000 || p.Height > 2500 || b.Len() > 500_000 {
			t.Errorf("the picture of %d instances is %d by %d, in %d bytes", n, p.Width, p.Height, b.Len())
		}
	}
}
