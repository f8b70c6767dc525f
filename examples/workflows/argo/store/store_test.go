package store

import (
	"path/filepath"
	"slices"
	"testing"

	"example.com/points/line"
)

func TestStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "points.txt")
	s, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(); err != nil {
		t.Fatal(err)
	}
	points := []line.Point{
		{Name: "cpu", Host: "b", Value: 1, Time: 1}, {Name: "cpu", Host: "b", Value: 3, Time: 2},
		{Name: "cpu", Host: "a", Value: 5, Time: 1}, {Name: "disk", Host: "a", Value: 9, Time: 1},
	}
	want := []Summary{{Host: "a", Count: 1, Mean: 5}, {Host: "b", Count: 2, Mean: 2}}
	for range 2 { // the second time changes nothing
		if err := s.Write(points...); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Summaries("cpu"); !slices.Equal(got, want) {
		t.Errorf("the summaries are %v", got)
	}
	again, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Summaries("cpu"); !slices.Equal(got, want) {
		t.Errorf("opened again, the summaries are %v", got)
	}
}
