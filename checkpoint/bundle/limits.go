package bundle

// Limits say how much of an archive is too much, so that a small file cannot
// fill the disk or the memory. All are looked at before the first member is
// read; since the members must then be as long as the table says, no more can
// come out of the archive, however well it is compressed. A zero stands for
// the default.
type Limits struct {
	Members int   // how many, without bundle.json; 1,000,000
	Member  int64 // bytes of one; 64 GiB
	Total   int64 // bytes of all together; 64 GiB
	Table   int64 // bytes of bundle.json; 256 MiB
}

const (
	defaultMembers = 1_000_000
	defaultMember  = 64 << 30
	defaultTotal   = 64 << 30
	defaultTable   = 256 << 20
)

func (l Limits) orDefaults() Limits {
	if l.Members == 0 {
		l.Members = defaultMembers
	}
	if l.Member == 0 {
		l.Member = defaultMember
	}
	if l.Total == 0 {
		l.Total = defaultTotal
	}
	if l.Table == 0 {
		l.Table = defaultTable
	}
	return l
}

// admit checks a member that would follow count others, which are total bytes
// long.
func (l Limits) admit(m Member, count int, total int64) error {
	switch {
	case count >= l.Members:
		return &LimitError{What: "too many members", Limit: int64(l.Members)}
	case m.Size > l.Member:
		return &LimitError{What: "too long a member", Limit: l.Member}
	case m.Size > l.Total-total:
		return &LimitError{What: "too many bytes", Limit: l.Total}
	}
	return nil
}
