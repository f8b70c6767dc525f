package graph

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Picture is a graph laid out on a plane. Phases are bands below each other. A band has a row of boxes
// for each batch, and lines lead down from each workstream to those that need it. Lengths are in pixels.
type Picture struct {
	Graph         *Graph
	Width, Height int
	Bands         []*Band
	Lines         []Line

	rows []*row // of all bands, from top to bottom
}

// Band is a phase in a picture.
type Band struct {
	Phase     *Phase
	Y, Height int
	GatesY    int // where the gates of the phase begin; 0: it has none

	rows []*row
}

// Box is a workstream in a picture, or the instances of a block with for_each that have the same depth.
type Box struct {
	Name      string        // of the workstream or of the block
	Instances []*Workstream // one for a workstream without for_each
	X, Y      int
	Width     int
	Height    int

	row          int // the index of its row
	centre       float64
	above, below []*Box // what it needs, and what needs it
}

// Line leads from a box to one that needs it.
type Line struct {
	From, To *Box
	RunOn    string  // "": the second runs when the first has completed
	Via      []Point // where it passes the rows between both
}

// Point is a point of a picture.
type Point struct{ X, Y int }

// row is a row of boxes of one batch.
type row struct {
	boxes     []*Box
	y, height int
}

// The measures of a picture.
const (
	margin     = 20 // around the boxes of a band
	bandHead   = 40 // above the first row of a band, for its name
	bandGap    = 16
	boxWidth   = 208
	boxGap     = 28 // between boxes of a row
	rowGap     = 36 // between rows
	gateHeight = 34 // of the line with the gates of a phase
	maxBoxes   = 6  // a batch with more boxes is divided into rows
)

// Layout lays a graph out.
func (g *Graph) Layout() *Picture {
	p := &Picture{Graph: g}
	batches := p.addBands()
	p.connect()
	sortBatches(batches)
	p.addRows()
	p.placeBoxes()
	p.stackBands()
	p.routeLines()
	return p
}

// IsBlock reports whether the box stands for the instances of a block with for_each.
func (b *Box) IsBlock() bool { return b.Instances[0].Name != b.Name }

// Boxes returns the boxes of a band, row by row.
func (b *Band) Boxes() (all []*Box) {
	for _, r := range b.rows {
		all = append(all, r.boxes...)
	}
	return all
}

// addBands adds a band for each phase, with a row for each batch, and returns the rows.
func (p *Picture) addBands() (batches []*row) {
	for i := range p.Graph.Phases {
		phase := &p.Graph.Phases[i]
		band := &Band{Phase: phase}
		p.Bands = append(p.Bands, band)
		rows, boxes := map[int]*row{}, map[boxKey]*Box{}
		for k := range phase.Workstreams {
			w := &phase.Workstreams[k]
			name, _, _ := strings.Cut(w.Name, "[")
			key := boxKey{name, w.Batch}
			if boxes[key] == nil {
				boxes[key] = &Box{Name: name}
				if rows[w.Batch] == nil {
					rows[w.Batch] = &row{}
				}
				rows[w.Batch].boxes = append(rows[w.Batch].boxes, boxes[key])
			}
			boxes[key].Instances = append(boxes[key].Instances, w)
		}
		for _, batch := range slices.Sorted(maps.Keys(rows)) {
			band.rows = append(band.rows, rows[batch])
		}
		batches = append(batches, band.rows...)
	}
	return batches
}

func (p *Picture) boxes() (all []*Box) {
	for _, band := range p.Bands {
		all = append(all, band.Boxes()...)
	}
	return all
}

// boxKey is what the instances in one box have in common.
type boxKey struct {
	name  string
	batch int
}

// connect adds a line for each box that needs another. A line is left out if other lines lead from the
// one box to the other, too.
func (p *Picture) connect() {
	boxOf := map[string]*Box{}
	all := p.boxes()
	for _, b := range all {
		for _, w := range b.Instances {
			boxOf[w.Name] = b
		}
	}
	index := map[*Box]int{} // what is needed has a lower index than what needs it
	for i, b := range all {
		index[b] = i
	}
	needs := make([][]Line, len(all))
	for i, b := range all {
		known := map[*Box]bool{}
		for _, w := range b.Instances {
			for _, name := range w.upstream() {
				if from := boxOf[name]; from != nil && index[from] < i && !known[from] {
					known[from] = true
					needs[i] = append(needs[i], Line{From: from, To: b, RunOn: w.RunOn})
				}
			}
		}
	}
	before := make([]set, len(all)) // the boxes from which lines lead to a box
	for i, lines := range needs {
		before[i] = newSet(len(all))
		slices.SortFunc(lines, func(a, b Line) int { return cmp.Compare(index[b.From], index[a.From]) }) // the nearest first
		for _, l := range lines {
			from := index[l.From]
			if before[i].has(from) && l.RunOn == "" {
				continue
			}
			before[i].add(from)
			before[i].addAll(before[from])
			l.From.below, l.To.above = append(l.From.below, l.To), append(l.To.above, l.From)
			p.Lines = append(p.Lines, l)
		}
	}
}

// set is a set of small numbers.
type set []uint64

func newSet(size int) set { return make(set, (size+63)/64) }

func (s set) has(n int) bool { return s[n/64]&(1<<(n%64)) != 0 }

func (s set) add(n int) { s[n/64] |= 1 << (n % 64) }

func (s set) addAll(other set) {
	for i, word := range other {
		s[i] |= word
	}
}

// sortBatches orders the boxes of each batch so that those stand near each other that lines connect. Where
// nothing else decides, the order is that of the file.
func sortBatches(batches []*row) {
	spread := func(r *row) {
		for i, b := range r.boxes {
			b.centre = (float64(i) + 0.5) / float64(len(r.boxes))
		}
	}
	for _, r := range batches {
		spread(r)
	}
	sweep := func(r *row, neighbours func(*Box) []*Box) {
		wanted := map[*Box]float64{}
		for _, b := range r.boxes {
			wanted[b] = mean(neighbours(b), b.centre)
		}
		slices.SortStableFunc(r.boxes, func(a, b *Box) int { return cmp.Compare(wanted[a], wanted[b]) })
		spread(r)
	}
	for range 2 {
		for _, r := range slices.Backward(batches) {
			sweep(r, func(b *Box) []*Box { return b.below })
		}
		for _, r := range batches {
			sweep(r, func(b *Box) []*Box { return b.above })
		}
	}
}

// mean returns the mean of the centres of boxes, or otherwise if there are none.
func mean(boxes []*Box, otherwise float64) float64 {
	if len(boxes) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, b := range boxes {
		sum += b.centre
	}
	return sum / float64(len(boxes))
}

// addRows divides batches that are too wide into rows, and sets the sizes of the boxes.
func (p *Picture) addRows() {
	for _, band := range p.Bands {
		var rows []*row
		for _, batch := range band.rows {
			n := (len(batch.boxes) + maxBoxes - 1) / maxBoxes
			size := (len(batch.boxes) + n - 1) / n // rows of one batch have about the same length
			for boxes := range slices.Chunk(batch.boxes, size) {
				rows = append(rows, &row{boxes: boxes})
			}
		}
		band.rows = rows
		p.rows = append(p.rows, rows...)
	}
	for i, r := range p.rows {
		for _, b := range r.boxes {
			b.row = i
			b.Width, b.Height = b.size()
			r.height = max(r.height, b.Height)
		}
	}
}

// placeBoxes sets where boxes stand in their rows: below what they need, and above what needs them.
func (p *Picture) placeBoxes() {
	for _, r := range p.rows { // at first each row by itself, around 0
		width := -boxGap
		for _, b := range r.boxes {
			width += b.Width + boxGap
		}
		x := -float64(width) / 2
		for _, b := range r.boxes {
			b.centre = x + float64(b.Width)/2
			x += float64(b.Width + boxGap)
		}
	}
	for range 2 {
		for _, r := range p.rows {
			r.moveTowards(func(b *Box) []*Box { return b.above })
		}
		for _, r := range slices.Backward(p.rows) {
			r.moveTowards(func(b *Box) []*Box { return b.below })
		}
	}
	left := 0.0
	for _, r := range p.rows {
		left = min(left, r.boxes[0].centre-float64(r.boxes[0].Width)/2)
	}
	for _, r := range p.rows {
		for _, b := range r.boxes {
			b.X = int(b.centre-left) - b.Width/2 + 2*margin
		}
		last := r.boxes[len(r.boxes)-1]
		p.Width = max(p.Width, last.X+last.Width+2*margin)
	}
}

// moveTowards moves the boxes of a row as near as possible to the means of their neighbours, without
// changing their order: boxes that want the same place stand around it as a group.
func (r *row) moveTowards(neighbours func(*Box) []*Box) {
	type group struct {
		first, boxes int
		sum          float64 // of the places that the boxes want for the first of the group
	}
	offset := make([]float64, len(r.boxes)) // of each box to the first one, if they stand as near as they may
	var groups []group
	for i, b := range r.boxes {
		if i > 0 {
			offset[i] = offset[i-1] + float64(r.boxes[i-1].Width+b.Width)/2 + boxGap
		}
		g := group{i, 1, mean(neighbours(b), b.centre) - offset[i]}
		for len(groups) > 0 { // a group that would overlap the one before it joins it
			before := groups[len(groups)-1]
			if before.sum/float64(before.boxes) <= g.sum/float64(g.boxes) {
				break
			}
			g = group{before.first, before.boxes + g.boxes, before.sum + g.sum}
			groups = groups[:len(groups)-1]
		}
		groups = append(groups, g)
	}
	for _, g := range groups {
		for i := g.first; i < g.first+g.boxes; i++ {
			r.boxes[i].centre = g.sum/float64(g.boxes) + offset[i]
		}
	}
}

// stackBands sets where bands, rows and boxes stand from top to bottom.
func (p *Picture) stackBands() {
	y := margin / 2
	p.Width = max(p.Width, minWidth)
	for _, band := range p.Bands {
		band.Y = y
		y += bandHead
		for _, r := range band.rows {
			r.y = y
			for _, b := range r.boxes {
				b.Y = y
			}
			y += r.height + rowGap
		}
		if len(band.rows) > 0 {
			y -= rowGap
		}
		if len(band.Phase.Gates) > 0 {
			band.GatesY = y + margin/2
			y = band.GatesY + gateHeight
		}
		y += margin
		band.Height = y - band.Y
		y += bandGap
	}
	p.Height = y - bandGap + margin/2
}

// minWidth leaves room for the name of a phase.
const minWidth = 480

// routeLines has each line that passes rows go through a gap between their boxes.
func (p *Picture) routeLines() {
	used := map[Point]int{} // how many lines go through a gap
	for i := range p.Lines {
		l := &p.Lines[i]
		from, to := l.From.middle(), l.To.middle()
		rows := l.To.row - l.From.row
		for n := 1; n < rows; n++ {
			r := p.rows[l.From.row+n]
			gap := Point{r.nearestGap(from + (to-from)*n/rows), r.y}
			x := gap.X + (used[gap]%5-2)*4
			used[gap]++
			l.Via = append(l.Via, Point{x, r.y}, Point{x, r.y + r.height})
		}
	}
}

func (b *Box) middle() int { return b.X + b.Width/2 }

// nearestGap returns the middle of the gap in a row, or beside it, that is nearest to x.
func (r *row) nearestGap(x int) int {
	nearest := r.boxes[0].X - boxGap/2
	for _, b := range r.boxes {
		if gap := b.X + b.Width + boxGap/2; abs(gap-x) < abs(nearest-x) {
			nearest = gap
		}
	}
	return nearest
}

func abs(n int) int { return max(n, -n) }
