package line

import "testing"

func TestParse(t *testing.T) {
	p, err := Parse("cpu,server01,2.5 10")
	if want := (Point{Name: "cpu", Host: "server01", Value: 2.5, Time: 10}); err != nil || p != want {
		t.Errorf("Parse returns %v, %v", p, err)
	}
	if p.String() != "cpu,server01,2.5 10" {
		t.Errorf("the line is %q", p)
	}
	for _, text := range []string{"", "cpu,server01,2.5", "cpu,2.5 10", "cpu,server01,high 10", "cpu,server01,2.5 noon"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("Parse accepts %q", text)
		}
	}
}
