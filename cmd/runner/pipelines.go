package main

import (
	"fmt"
	"strings"
)

// pipelineNotFoundError says that there is no pipeline of a PRD.
type pipelineNotFoundError struct {
	prd   string
	tried []string // files, in the order in which they were looked for
}

func (e *pipelineNotFoundError) Error() string {
	return fmt.Sprintf("there is no pipeline for %s; looked for\n  %s", e.prd, strings.Join(e.tried, "\n  "))
}
