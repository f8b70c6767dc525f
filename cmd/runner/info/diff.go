package info

import "prdrunner/checkpoint/compare"

// DiffReport is what `checkpoint diff --json` prints.
type DiffReport struct {
	FormatVersion string `json:"format_version"`
	Same          bool   `json:"same"`
	*compare.Comparison
}

// NewDiffReport returns the JSON form of a comparison.
func NewDiffReport(c *compare.Comparison) DiffReport {
	return DiffReport{FormatVersion: FormatVersion, Same: c.Same(), Comparison: c}
}
