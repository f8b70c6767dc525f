package state

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

const (
	// MaxGivenValue bounds the value of a variable that is on record, in bytes of JSON.
	MaxGivenValue = 1024
	// MaxGivenValues is how many values are on record of one variable.
	MaxGivenValues = 8
)

// Given holds the values that variables were given, by name, each as JSON, the newest
// last. They tell people which value a recorded digest stands for. Sensitive values are
// never recorded.
type Given map[string][]string

// merged returns a copy with later values added.
func (g Given) merged(later map[string]string) Given {
	if len(later) == 0 {
		return g
	}
	all := make(Given, len(g)+len(later))
	for name, values := range g {
		all[name] = values
	}
	for name, value := range later {
		values := slices.DeleteFunc(slices.Clone(all[name]), func(had string) bool { return had == value })
		values = append(values, value)
		all[name] = values[max(0, len(values)-MaxGivenValues):]
	}
	return all
}

// Ago returns for each variable the n-th value before the newest, "" where fewer are
// recorded.
func (g Given) Ago(n int) map[string]string {
	values := make(map[string]string, len(g))
	for name, all := range g {
		values[name] = ""
		if n < len(all) {
			values[name] = all[len(all)-1-n]
		}
	}
	return values
}

// Value returns the value, as JSON, of a variable that has this digest; "" where it is not
// recorded.
func (g Given) Value(name, digest string) string {
	for _, value := range g[name] {
		if sum := sha256.Sum256([]byte(value)); "sha256:"+hex.EncodeToString(sum[:]) == digest {
			return value
		}
	}
	return ""
}
