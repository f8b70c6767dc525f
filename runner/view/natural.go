package view

import (
	"cmp"
	"slices"
	"strings"

	"prdrunner/runner/progress"
)

// CompareNatural compares two names as people order them: numbers in them by their value, so that
// service["2"] comes before service["10"].
func CompareNatural(a, b string) int {
	for restA, restB := a, b; ; {
		textA, numberA, moreA := cutNumber(restA)
		textB, numberB, moreB := cutNumber(restB)
		if c := strings.Compare(textA, textB); c != 0 {
			return c
		}
		if c := compareNumbers(numberA, numberB); c != 0 {
			return c
		}
		if numberA == "" { // both have ended
			return cmp.Or(strings.Compare(moreA, moreB), strings.Compare(a, b))
		}
		restA, restB = moreA, moreB
	}
}

// cutNumber splits a text at its first number. Without one, number and rest are "".
func cutNumber(s string) (text, number, rest string) {
	begin := strings.IndexFunc(s, isDigit)
	if begin < 0 {
		return s, "", ""
	}
	end := begin
	for end < len(s) && isDigit(rune(s[end])) {
		end++
	}
	return s[:begin], s[begin:end], s[end:]
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// compareNumbers compares two numbers of any length. A missing number comes first.
func compareNumbers(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(a), len(b))
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Block returns the name of the block of which a workstream is an instance: service of
// service["2"]. It returns the name itself if the workstream is no instance.
func Block(name string) string {
	return cmp.Or(progress.BlockOf(name), name)
}

// InNaturalOrder returns a list in which the instances of one block that follow each other are
// in the order of CompareNatural. What is no instance keeps its place.
func InNaturalOrder[T any](list []T, name func(T) string) []T {
	sorted := slices.Clone(list)
	for begin := 0; begin < len(sorted); {
		block, end := Block(name(sorted[begin])), begin+1
		for end < len(sorted) && Block(name(sorted[end])) == block {
			end++
		}
		slices.SortStableFunc(sorted[begin:end], func(a, b T) int { return CompareNatural(name(a), name(b)) })
		begin = end
	}
	return sorted
}
