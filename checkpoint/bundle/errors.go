package bundle

import "fmt"

// DamagedError says why bytes are not an archive as Write makes it, be it by
// accident or by intent.
type DamagedError struct {
	Member string // "" if it is not about one
	Detail string
}

func (e *DamagedError) Error() string {
	if e.Member == "" {
		return "not a sound export archive: " + e.Detail
	}
	return fmt.Sprintf("not a sound export archive: %s: %s", quote(e.Member), e.Detail)
}

// VersionError says that an archive is of a format version that is not known
// here. Nothing behind the version was read.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("export archive of format version %s: only %s is known here; upgrade runner", e.Version, FormatVersion)
}

// LimitError says which of the Limits an archive would exceed. None of its
// members was read.
type LimitError struct {
	What  string
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("export archive with %s: the limit is %d", e.What, e.Limit)
}

// ChangedError says that a file was not the same all the time while it was
// written to an archive.
type ChangedError struct {
	Name   string
	Detail string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s changed while it was exported: %s", quote(e.Name), e.Detail)
}

// NameError says why something cannot be the name of a member.
type NameError struct {
	Name   string
	Detail string
}

func (e *NameError) Error() string { return fmt.Sprintf("member name %s: %s", quote(e.Name), e.Detail) }

// quote makes a name fit to be shown: whoever made the archive chose it.
func quote(name string) string {
	const shown = 200
	if len(name) > shown {
		return fmt.Sprintf("%q…", name[:shown])
	}
	return fmt.Sprintf("%q", name)
}
