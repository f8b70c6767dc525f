package bundle

import "fmt"

// DamagedError says why bytes are not an archive that Write wrote.
type DamagedError struct {
	Member string // "" if the error is not about a member
	Detail string
}

func (e *DamagedError) Error() string {
	if e.Member == "" {
		return "not a sound export archive: " + e.Detail
	}
	return fmt.Sprintf("not a sound export archive: %s: %s", quoteName(e.Member), e.Detail)
}

// VersionError says that the format version of an archive is unknown. Nothing after the
// version was read.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("export archive of format version %s: only %s is known here; upgrade runner", e.Version, FormatVersion)
}

// LimitError says which of the Limits an archive exceeds. None of its members was read.
type LimitError struct {
	What  string
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("export archive with %s: the limit is %d", e.What, e.Limit)
}

// ChangedError says that a file changed while it was written to an archive.
type ChangedError struct {
	Name   string
	Detail string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s changed while it was exported: %s", quoteName(e.Name), e.Detail)
}

// NameError says why a text cannot be the name of a member.
type NameError struct {
	Name   string
	Detail string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("member name %s: %s", quoteName(e.Name), e.Detail)
}

// quoteName makes a name safe to be shown: the author of the archive chose it.
func quoteName(name string) string {
	const shown = 200
	if len(name) > shown {
		return fmt.Sprintf("%q…", name[:shown])
	}
	return fmt.Sprintf("%q", name)
}
