package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// report holds the results of one run of the program.
type report struct {
	Machine  machine         `json:"machine"`
	Small    bool            `json:"small"` // the figures only show that every contest runs
	Contests []contestReport `json:"contests"`
	Targets  []measured      `json:"targets"`
}

type contestReport struct {
	Name    string   `json:"name"`
	Results []result `json:"results"`
}

// median returns the median of one figure of one contestant in one contest. It is false if
// the contestant did not take part.
func (r report) median(of func(sample) float64, contest, who string) (figure float64, ok bool) {
	for _, c := range r.Contests {
		for _, result := range c.Results {
			if c.Name == contest && result.Name == who && len(result.Samples) > 0 {
				return result.median(of), true
			}
		}
	}
	return 0, false
}

// print writes a table for each contest, with ratios to the first contestant that took
// part, and a table of the targets.
func (r report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) }
	_, _ = fmt.Fprintf(w, "%s\nMedians; ratios to the first of each contest.\n", r.Machine)
	for _, c := range r.Contests {
		_, _ = fmt.Fprintf(w, "\n%s, rounds: %d\n", c.Name, c.rounds())
		line("", "time", "ratio", "CPU", "memory", "written", "fsyncs")
		first := 0.0
		for _, result := range c.Results {
			if result.Missing != "" {
				line(result.Name, "left out: "+result.Missing)
				continue
			}
			took := result.median(seconds)
			if first == 0 {
				first = took
			}
			line(result.Name, fmt.Sprintf("%.3f s", took), fmt.Sprintf("%.2f", took/first),
				fmt.Sprintf("%.3f s", result.median(cpu)), result.known(megabytes, "%.0f MB"), result.known(megabytesWritten, "%.1f MB"), result.known(fsyncs, "%.0f"))
		}
		_ = t.Flush() // there is nowhere to report an error of the output
	}
	if len(r.Targets) == 0 {
		return
	}
	_, _ = fmt.Fprintln(w, "\ntargets")
	line(headings()...)
	for _, m := range r.Targets {
		line(m.cells(r.Small)...)
	}
	_ = t.Flush()
}

// known formats a figure. It returns "" if the figure is not known.
func (r result) known(of func(sample) float64, format string) string {
	if figure := r.median(of); figure > 0 {
		return fmt.Sprintf(format, figure)
	}
	return ""
}

// headings returns the headings of the table of targets.
func headings() []string { return []string{"", "is", "at most", "floor", ""} }

// cells returns the cells of a target in the table of targets.
func (m measured) cells(small bool) []string {
	return []string{m.What, fmt.Sprintf("%.2f%s", m.Is, m.Unit), fmt.Sprintf("%g%s", m.AtMost, m.Unit), m.floor(), m.verdict(small)}
}

// near is the largest multiple of the floor that is good enough if a target cannot be met.
const near = 1.3

// verdict says whether the target is met. It returns "" at small sizes, for which no
// target holds.
func (m measured) verdict(small bool) string {
	switch {
	case small:
		return ""
	case m.Is <= m.AtMost:
		return "met"
	case m.Floor == 0:
		return "missed"
	case m.Is <= near*m.Floor:
		return fmt.Sprintf("missed, but within %g of the floor: %.2f times", near, m.Is/m.Floor)
	default:
		return fmt.Sprintf("missed, %.2f times the floor", m.Is/m.Floor)
	}
}

// floor formats the floor. It returns "" if the floor is not known.
func (m measured) floor() string {
	if m.Floor == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f%s", m.Floor, m.Unit)
}

func (c contestReport) rounds() int {
	most := 0
	for _, r := range c.Results {
		most = max(most, len(r.Samples))
	}
	return most
}

// write writes the report to a file as JSON.
func (r report) write(file string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
