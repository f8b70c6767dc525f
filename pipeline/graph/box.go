package graph

import (
	"math"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// The measures of what stands in a box.
const (
	padding    = 12
	nameLine   = 20
	textLine   = 16
	maxGates   = 4    // named in a box; further ones are counted
	maxNamed   = 1000 // instances whose keys are written; more are only drawn
	maxLabels  = 8    // columns of keys
	labelWidth = 104
	tile       = 9 // of an instance whose key is not written, with the space around it
)

// size returns the width and the height that the texts and the instances in a box need.
func (b *Box) size() (width, height int) {
	width, height = boxWidth, padding+nameLine
	if b.title() != "" {
		height += textLine
	}
	if b.notes() != "" {
		height += textLine
	}
	if b.IsBlock() {
		columns, rows, cell := b.grid()
		width = max(width, columns*cell.X+2*padding)
		height += rows*cell.Y + padding/2
	}
	return width, height + b.gateLines()*textLine + padding/2
}

// grid returns how the instances of a block stand in its box, and the size of a cell.
func (b *Box) grid() (columns, rows int, cell Point) {
	n := len(b.Instances)
	if n <= maxNamed {
		cell = Point{labelWidth, textLine}
		// A few are a list; many are about as wide as high.
		columns = min(maxLabels, max(1, int(math.Sqrt(float64(n*textLine)/labelWidth))))
		if columns == 1 {
			cell.X = boxWidth - 2*padding
		}
	} else {
		cell = Point{tile, tile}
		columns = max(boxWidth-2*padding, min(maxLabels*labelWidth, int(math.Sqrt(float64(n)))*tile)) / tile
	}
	return columns, (n + columns - 1) / columns, cell
}

// title returns the title of the workstream, "" if it says no more than the name or instances have different ones.
func (b *Box) title() string {
	title := b.Instances[0].Title
	for _, w := range b.Instances {
		if w.Title != title || title == w.Name || title == b.Name {
			return ""
		}
	}
	return title
}

// notes returns what is special about the workstream.
func (b *Box) notes() string {
	w := b.Instances[0]
	var parts []string
	if w.RunOn != "" {
		parts = append(parts, strings.Trim(runOnLabel(w.RunOn), " ()"))
	}
	if w.Effect == "once" {
		parts = append(parts, "once")
	}
	if w.Agent != "" {
		parts = append(parts, w.Agent)
	}
	if w.Calls != "" {
		parts = append(parts, "calls "+w.Calls)
	}
	if len(w.Services) > 0 {
		parts = append(parts, "with "+strings.Join(w.Services, ", "))
	}
	if w.Isolate != "" {
		parts = append(parts, "in a work tree")
	}
	if w.MayFail {
		parts = append(parts, "may fail")
	}
	return strings.Join(parts, " · ")
}

// gates returns the gates of the workstream; instances have the same ones.
func (b *Box) gates() []Gate { return b.Instances[0].Gates }

func (b *Box) gateLines() int { return min(len(b.gates()), maxGates) }

// key returns the key of an instance, as it stands in its name between the brackets.
func (b *Box) key(w *Workstream) string {
	key := strings.TrimSuffix(strings.TrimPrefix(w.Name, b.Name+"["), "]")
	if text, err := strconv.Unquote(key); err == nil {
		return text
	}
	return key
}

// fits reports whether nothing is cut that the box says.
func (b *Box) fits() bool {
	room := b.Width - 2*padding
	return fitted(b.Name, room-2*charWidth) == b.Name && fitted(b.title(), room) == b.title() && fitted(b.notes(), room) == b.notes()
}

// charWidth is the width of a character in a font of 12 pixels in which all are as wide.
const charWidth = 7

// fitted cuts a text that is wider than some pixels.
func fitted(text string, pixels int) string {
	text = sanitized(text)
	columns := pixels / charWidth
	if displaywidth.String(text) <= columns {
		return text
	}
	return displaywidth.TruncateString(text, columns, "…")
}
