package trace

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// sampler decides which traces are sent: a share of them, and with parentBased those whose parent
// is sent.
type sampler struct {
	share       float64 // 0 to 1
	parentBased bool
}

// sampler reads OTEL_TRACES_SAMPLER.
func (r *reading) sampler() sampler {
	name := r.Lookup("OTEL_TRACES_SAMPLER")
	root, parentBased := strings.CutPrefix(name, "parentbased_")
	s := sampler{share: 1, parentBased: parentBased}
	switch root {
	case "":
		s.parentBased = true
	case "always_on":
	case "always_off":
		s.share = 0
	case "traceidratio":
		argument := r.Lookup("OTEL_TRACES_SAMPLER_ARG")
		share, err := strconv.ParseFloat(argument, 64)
		switch {
		case argument == "":
		case err != nil || math.IsNaN(share) || share < 0 || share > 1:
			r.problems = append(r.problems, "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; it is ignored")
		default:
			s.share = share
		}
	default:
		r.problems = append(r.problems, "OTEL_TRACES_SAMPLER is "+name+", which Runner does not have; every trace is sampled whose parent is")
		s.parentBased = true
	}
	return s
}

// samples reports whether a trace is sent. The ids of traces are random, and all that take the same
// share take the same traces.
func (s sampler) samples(trace traceID, parent spanContext) bool {
	if s.parentBased && parent.span != (spanID{}) {
		return parent.sampled
	}
	const bits = 63
	return float64(binary.BigEndian.Uint64(trace[8:])>>1) < s.share*(1<<bits)
}
