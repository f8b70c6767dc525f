package main

import (
	"fmt"
	"math/rand/v2"
)

// graph is a workload of commands that do nothing, and their dependencies.
type graph struct {
	shape string
	steps []step
	// again says that the graph is run a second time. So each step leaves a file with its
	// name, and a last phase that fails keeps Runner's session from being complete.
	again bool
}

type step struct {
	name string
	on   []string // the earlier steps that it depends on
}

// wide returns n steps without dependencies.
func wide(n int) graph { return newGraph("wide", n, func(int) []int { return nil }) }

// deep returns n steps, each of which depends on the one before it.
func deep(n int) graph {
	return newGraph("deep", n, func(i int) []int {
		if i == 0 {
			return nil
		}
		return []int{i - 1}
	})
}

// diamond returns n steps in rhombs of ten: one step, eight that depend on it, and one
// that depends on these eight. The next rhomb depends on the last step of the one before
// it.
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

// random returns n steps, each of which depends on up to three of the hundred before it.
// The graph is the same in every run of the program.
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

// names returns the names of all steps.
func (g graph) names() []string {
	names := make([]string, len(g.steps))
	for i, s := range g.steps {
		names[i] = s.name
	}
	return names
}
