package main

import (
	"fmt"
	"math/rand/v2"
)

// graph is a workload: commands that do nothing, and what each waits for.
type graph struct {
	shape string
	steps []step
	// again says that it is to be run a second time: each step leaves a file with its
	// name, and Runner's session is left unfinished by a last phase that fails.
	again bool
}

type step struct {
	name string
	on   []string // earlier steps
}

// wide is n steps that wait for nothing.
func wide(n int) graph { return newGraph("wide", n, func(int) []int { return nil }) }

// deep is n steps, each of which waits for the one before.
func deep(n int) graph {
	return newGraph("deep", n, func(i int) []int {
		if i == 0 {
			return nil
		}
		return []int{i - 1}
	})
}

// diamond is n steps in rhombs of ten: one, eight side by side that wait for it,
// and one that waits for these, on which the next rhomb begins.
func diamond(n int) graph {
	return newGraph("diamond", n, func(i int) []int {
		switch first := i - i%10; {
		case i == 0:
			return nil
		case i == first:
			return []int{first - 1}
		case i%10 == 9:
			on := make([]int, 0, 8)
			for j := first + 1; j < i; j++ {
				on = append(on, j)
			}
			return on
		default:
			return []int{first}
		}
	})
}

// random is n steps, each of which waits for up to three of the hundred before
// it; always the same.
func random(n int) graph {
	draw := rand.New(rand.NewPCG(1, 2))
	return newGraph("random", n, func(i int) []int {
		var on []int
		for back := 1; back <= min(i, 100) && len(on) < 3; back++ {
			if draw.IntN(60) == 0 {
				on = append(on, i-back)
			}
		}
		return on
	})
}

func newGraph(shape string, n int, on func(i int) []int) graph {
	g := graph{shape: shape, steps: make([]step, n)}
	for i := range g.steps {
		g.steps[i].name = fmt.Sprintf("s%d", i)
		for _, j := range on(i) {
			g.steps[i].on = append(g.steps[i].on, g.steps[j].name)
		}
	}
	return g
}

// names are those of all steps.
func (g graph) names() []string {
	names := make([]string, len(g.steps))
	for i, s := range g.steps {
		names[i] = s.name
	}
	return names
}
