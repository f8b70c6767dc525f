package bundle

// Limits bound what is read from an archive, so that a small file cannot fill the disk or
// the memory. All are checked before the first member is read. The members must then have
// the lengths in the table, so that decompression cannot produce more. Zero means the
// default, which each field names.
type Limits struct {
	Members int   // number without bundle.json; 1,000,000
	Member  int64 // bytes of one member; 64 GiB
	Total   int64 // bytes of all members; 64 GiB
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

// check checks a member that follows count others of total bytes.
func (l Limits) check(m Member, count int, total int64) error {
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
