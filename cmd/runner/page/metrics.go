package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"prdrunner/cmd/runner/info"
)

// The size of the line of a metric.
const (
	trendWidth  = 220
	trendHeight = 36
)

// addMetrics adds the metrics of the session, each with its line over the sessions.
func (s *session) addMetrics(o *info.Overview) {
	for _, trend := range o.Metrics {
		last := trend.Points[len(trend.Points)-1]
		if last.Session != o.Status.Session { // this session has not set it
			continue
		}
		m := metric{Name: trend.Name, Value: last.Value.Shown(), Sessions: len(trend.Points), Before: "-"}
		if before, has := o.State.Baseline[trend.Name]; has {
			m.Before = info.ShownValue(before.Value)
		}
		m.draw(trend.Points)
		s.Metrics = append(s.Metrics, m)
	}
}

// draw sets the line of a metric, if there are two numbers.
func (m *metric) draw(points []info.MetricPoint) {
	low, high, numbers := math.Inf(1), math.Inf(-1), 0
	for _, p := range points {
		if !math.IsNaN(p.Number) {
			low, high, numbers = min(low, p.Number), max(high, p.Number), numbers+1
		}
	}
	if numbers < 2 {
		return
	}
	var line []string
	for i, p := range points {
		if math.IsNaN(p.Number) {
			continue
		}
		x, y := trendWidth*float64(i)/float64(len(points)-1), float64(trendHeight)/2
		if high > low {
			y = 2 + (trendHeight-4)*(high-p.Number)/(high-low)
		}
		m.LastX, m.LastY = fmt.Sprintf("%.1f", x), fmt.Sprintf("%.1f", y)
		line = append(line, m.LastX+","+m.LastY)
	}
	m.Line = strings.Join(line, " ")
	m.Low, m.High = strconv.FormatFloat(low, 'g', 6, 64), strconv.FormatFloat(high, 'g', 6, 64)
}
