package logs

import (
	"testing"
	"time"
)

func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"5m":                        "2026-02-01T11:55:00Z",
		"0s":                        "2026-02-01T12:00:00Z",
		"36h":                       "2026-01-31T00:00:00Z",
		"2026-01-31":                "2026-01-31T00:00:00Z",
		"2026-01-31 15:04":          "2026-01-31T15:04:00Z",
		"2026-01-31 15:04:05":       "2026-01-31T15:04:05Z",
		"2026-01-31T15:04:05":       "2026-01-31T15:04:05Z",
		"2026-01-31T15:04:05+02:00": "2026-01-31T13:04:05Z",
		"-5m":                       "",
		"yesterday":                 "",
		"5":                         "",
		"":                          "",
	} {
		got, err := parseSince(text, now)
		switch {
		case want == "" && err == nil:
			t.Errorf("parseSince(%q) = %s, want an error", text, got)
		case want != "" && err != nil:
			t.Errorf("parseSince(%q): %v", text, err)
		case want != "" && got.UTC().Format(time.RFC3339) != want:
			t.Errorf("parseSince(%q) = %s, want %s", text, got.UTC().Format(time.RFC3339), want)
		}
	}
}
