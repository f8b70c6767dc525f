package main

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// counters count the calls of each operation and those that failed.
type counters struct {
	operations []string
	calls      map[string]*count
}

type count struct {
	total, failed atomic.Int64
}

func newCounters(operations []string) *counters {
	c := &counters{operations: operations, calls: make(map[string]*count, len(operations))}
	for _, name := range operations {
		c.calls[name] = &count{}
	}
	return c
}

// observe is called after each operation.
func (c *counters) observe(operation string, err error) {
	count := c.calls[operation]
	count.total.Add(1)
	if err != nil {
		count.failed.Add(1)
	}
}

// ServeHTTP writes the counts in Prometheus' text format.
func (c *counters) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, name := range c.operations {
		count := c.calls[name]
		fmt.Fprintf(w, "cashier_calls_total{operation=%q} %d\n", name, count.total.Load())
		fmt.Fprintf(w, "cashier_failures_total{operation=%q} %d\n", name, count.failed.Load())
	}
}
