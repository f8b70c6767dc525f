// Package line reads points from lines of text such as
//
//	cpu,server01,3 10
//
// which says that the cpu of server01 had the value 3 at time 10.
package line

import (
	"fmt"
	"strconv"
	"strings"
)

// Point is a value that a host measured.
type Point struct {
	Name, Host string
	Value      float64
	Time       int64
}

// Parse reads one line.
func Parse(text string) (Point, error) {
	head, at, ok := strings.Cut(text, " ")
	fields := strings.Split(head, ",")
	if !ok || len(fields) != 3 {
		return Point{}, fmt.Errorf("line %q is not NAME,HOST,VALUE TIME", text)
	}
	value, err := strconv.ParseFloat(fields[2], 64)
	if err != nil {
		return Point{}, fmt.Errorf("value of line %q: %w", text, err)
	}
	time, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return Point{}, fmt.Errorf("time of line %q: %w", text, err)
	}
	return Point{Name: fields[0], Host: fields[1], Value: value, Time: time}, nil
}

// String returns the line of a point.
func (p Point) String() string {
	return fmt.Sprintf("%s,%s,%g %d", p.Name, p.Host, p.Value, p.Time)
}
